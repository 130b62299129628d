// HTTP/1.1 messages (RFC 9112), to and from bytes; without sockets, so that any door can carry them.
//
// The parsing is that of the http_parser library; this bounds what a peer can make us keep.
#pragma once

#include "fairlead/base/result.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// A message with more is an error: a job's environment fits many times.
constexpr std::size_t kHttpBytesMax = std::size_t{4} << 20;

struct HttpMessage {
  std::string method;   // of a request: "GET"
  std::string path;     // of a request: "/v1/jobs/3", decoded; without the query
  std::string query;    // of a request: "all=1", as it came; empty: none
  std::string host;     // of a request: the Host header
  std::string token;    // of a request: of an "Authorization: Bearer" header
  std::string cookies;  // of a request: the Cookie header, "a=1; b=2"
  int status = 0;       // of a response
  std::string body;
  bool keep_alive = true;
};

// The messages that come over one connection, in order.
class HttpReader {
 public:
  enum class Of : std::uint8_t { kRequests, kResponses };
  explicit HttpReader(Of of);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Takes the next bytes; what follows a message without keep_alive is left out. Error: this is no
  // HTTP, or too much of it; the connection is of no further use. O(bytes).
  Status feed(std::string_view bytes);
  // The next whole message, if there is one.
  std::optional<HttpMessage> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Any text as one part of a target's path: "a b/c" is "a%20b%2Fc".
std::string http_encoded(std::string_view text);

// A request with a JSON body, or none where it is empty. REQUIRES: target and token come without
// blanks and control characters (http_encoded).
std::string http_request(std::string_view method, std::string_view target,
                         std::string_view body = {}, std::string_view token = {});
// The value of a name in a query such as "all=1&user=ann%20b", decoded; empty where it has none.
std::string query_value(std::string_view query, std::string_view name);
// The value of a name in HttpMessage::cookies, as it is; empty where it has none.
std::string_view cookie_value(std::string_view cookies, std::string_view name);
// A response that no cache keeps and no other site's page shows in a frame. `headers`: more of them,
// each with its "\r\n".
std::string http_response(int status, std::string_view content_type, std::string_view body,
                          bool keep_alive = true, std::string_view headers = {});

}  // namespace fairlead
