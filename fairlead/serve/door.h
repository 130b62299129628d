// Access over TCP, where the system does not identify the client: read-only, with the daemon's token.
#pragma once

#include "fairlead/http/http.h"

#include <string>
#include <string_view>

namespace fairlead {

// Guards a port of 127.0.0.1. All users of the machine can send requests to it, and so can pages of
// other sites in a browser there.
class Door {
 public:
  // An empty token refuses all requests.
  explicit Door(std::string token) : token_(std::move(token)) {}

  struct Refusal {
    int status = 0;  // HTTP status; 0: the request is allowed
    std::string_view why;
  };
  // Accepts the token as a bearer token, in the query (?token=), or in the cookie.
  Refusal refusal(const HttpMessage& request) const;
  // Returns the header that makes a browser send the token from now on; none if the query of the request
  // does not have the token.
  std::string cookie_for(const HttpMessage& request) const;

 private:
  bool is_token(std::string_view text) const;

  std::string token_;
};

}  // namespace fairlead
