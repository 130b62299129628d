// A blocking client of the daemon: HTTP over its Unix socket, one request at a time.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/http/http.h"

#include <string>
#include <string_view>

namespace fairlead {

class Client {
 public:
  // Connects to the daemon's socket at `path`. Error: no daemon answers there.
  static Result<Client> connect(const std::string& path);
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  // Sends a request and waits for the response, whatever its status. Errors: the connection is lost, or the
  // response is not HTTP. After an error the client is unusable. REQUIRES: as http_request; every earlier
  // request has its response.
  Result<HttpMessage> ask(std::string_view method, std::string_view target,
                          std::string_view body = {});

  // The halves of ask(), for a response that takes time: descriptor() is readable once a part has arrived.
  // `file`: a descriptor to pass to the daemon with the request; -1: none.
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
