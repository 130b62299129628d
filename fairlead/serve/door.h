// Who may ask over TCP, where the system does not say who it is: those who have the daemon's token, and
// only to look.
#pragma once

#include "fairlead/http/http.h"

#include <string>
#include <string_view>

namespace fairlead {

// The door at a port of 127.0.0.1. Everyone on the machine may knock, and so may pages of other sites
// in a browser there.
class Door {
 public:
  // No token: it is shut.
  explicit Door(std::string token) : token_(std::move(token)) {}

  struct Refusal {
    int status = 0;  // 0: it may
    std::string_view why;
  };
  // The token may be a bearer's, or in the query (?token=), or in the cookie.
  Refusal refusal(const HttpMessage& request) const;
  // The header that makes a browser bring the token from now on; none where the request does not have
  // it in its query.
  std::string cookie_for(const HttpMessage& request) const;

 private:
  bool is_token(std::string_view text) const;

  std::string token_;
};

}  // namespace fairlead
