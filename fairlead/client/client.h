// A client of the daemon: HTTP over its Unix socket, a request at a time. It waits for what it asks.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/http/http.h"

#include <string>
#include <string_view>

namespace fairlead {

class Client {
 public:
  // Error: no daemon answers there.
  static Result<Client> connect(const std::string& path);
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  // Sends a request and waits for the response, whatever its status is. Errors: the daemon has gone,
  // or answers no HTTP; the client is of no further use. REQUIRES: as http_request; no request that
  // was sent waits for its response.
  Result<HttpMessage> ask(std::string_view method, std::string_view target,
                          std::string_view body = {});

  // The halves of ask(), for an answer that takes its time: descriptor() is readable once some of it
  // is there.
  // A file that is given goes along, as another descriptor of the daemon's; none: -1.
  Status send(std::string_view method, std::string_view target, std::string_view body = {},
              int file = -1);
  Result<HttpMessage> receive();
  int descriptor() const { return descriptor_; }

 private:
  Client(std::string path, int descriptor);

  std::string path_;
  int descriptor_;  // -1: moved from
  HttpReader reader_;
};

}  // namespace fairlead
