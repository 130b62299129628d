// HTTP/1.1 messages (RFC 9112), to and from bytes, without sockets.
//
// The http_parser library parses; this file limits how much a peer can make the process keep.
#pragma once

#include "fairlead/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// A larger message is an error; the environment of a job fits many times.
constexpr std::size_t kHttpBytesMax = std::size_t{4} << 20;

struct HttpMessage {
  std::string method;   // the request's method: "GET"
  std::string path;     // the request's path: "/v1/jobs/3", decoded; without the query
  std::string query;    // the request's query: "all=1", not decoded; empty: none
  std::string host;     // the request's Host header
  std::string token;    // the token of the request's "Authorization: Bearer" header
  std::string cookies;  // the request's Cookie header, "a=1; b=2"
  int status = 0;       // status of a response
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

  // Parses the next bytes; ignores bytes after a message without keep_alive. Error: the bytes are not HTTP, or the
  // message is too large; the connection cannot be used again. O(bytes).
  Status feed(std::string_view bytes);
  // Returns the next complete message, if there is one.
  std::optional<HttpMessage> next();
  // Returns the bytes that it keeps: of messages that next() has not returned yet, and of the message that is not whole
  // yet. The second is 0 only between two messages. O(1).
  struct Kept {
    std::size_t whole = 0;
    std::size_t incomplete = 0;
  };
  Kept kept() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Encodes any text as one part of a target's path: "a b/c" is "a%20b%2Fc".
std::string http_encoded(std::string_view text);

// Returns a request with a JSON body, or without a body if it is empty. REQUIRES: target and token have no blanks and
// no control characters (http_encoded).
std::string http_request(std::string_view method, std::string_view target,
                         std::string_view body = {}, std::string_view token = {});
// Returns the decoded value of a name in a query such as "all=1&user=ann%20b"; empty if it has none.
std::string query_value(std::string_view query, std::string_view name);
// Returns the value of a name in HttpMessage::cookies, not decoded; empty if it has none.
std::string_view cookie_value(std::string_view cookies, std::string_view name);
// Returns a response that caches must not keep and other sites' pages cannot frame. `headers`: further headers, each
// with its "\r\n".
std::string http_response(int status, std::string_view content_type, std::string_view body,
                          bool keep_alive = true, std::string_view headers = {});

}  // namespace fairlead
