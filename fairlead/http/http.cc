#include "fairlead/http/http.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <http_parser.h>
#include <utility>

namespace fairlead {
namespace {

// Returns the value of a hexadecimal digit; negative if it is not one.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Undoes %20 and the like; nothing if a % is not followed by two digits, or encodes a zero byte.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]);
    const int low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::size_t bytes_of(const HttpMessage& message) {
  return sizeof message + message.path.size() + message.query.size() + message.host.size() +
         message.token.size() + message.cookies.size() + message.body.size();
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

// The state that the library's callbacks collect. A callback returns a value other than 0 to stop the parsing, with the
// reason in `problem`.
struct HttpReader::State {
  http_parser parser{};
  HttpMessage message;
  std::string url, field, value;
  bool is_header = false;  // reading a header, not yet the body or its trailers
  bool is_value = false;   // the last part of a header was part of its value
  bool has_host = false;
  bool is_last = false;  // no message follows on this connection
  std::string problem;
  std::deque<HttpMessage> whole;
  std::size_t whole_bytes = 0;
  bool has_begun = false;  // a message, which is not whole yet

  int fails(std::string_view why) {
    problem = why;
    return -1;
  }
  int begin() {
    message = {};
    has_begun = true;
    url.clear();
    is_header = true;
    has_host = false;
    return 0;
  }
  int add_field(std::string_view text) {
    if (is_value && end_header() != 0) return -1;
    if (is_header) field += text;
    return 0;
  }
  int add_value(std::string_view text) {
    is_value = is_header;
    if (is_header) value += text;
    return 0;
  }
  int end_header();
  int end_headers();
  int take_url();
  int add_body(std::string_view text) {
    if (text.size() > kHttpBytesMax - message.body.size()) return fails("it is too large");
    message.body += text;
    return 0;
  }
  int end() {
    is_last = !message.keep_alive;
    has_begun = false;
    whole_bytes += bytes_of(message);
    whole.push_back(std::exchange(message, {}));
    if (is_last) http_parser_pause(&parser, 1);
    return 0;
  }

  static State& of(http_parser* parser) { return *static_cast<State*>(parser->data); }
  static http_parser_settings callbacks();
};

int HttpReader::State::end_header() {
  if (equal_but_for_case(field, "host")) {
    if (std::exchange(has_host, true)) return fails("it has two Host headers");
    message.host = value;
  }
  constexpr std::string_view kScheme = "Bearer ";
  if (equal_but_for_case(field, "authorization") &&
      equal_but_for_case(std::string_view(value).substr(0, kScheme.size()), kScheme))
    message.token = value.substr(kScheme.size());
  if (equal_but_for_case(field, "cookie")) message.cookies = value;
  field.clear();
  value.clear();
  is_value = false;
  return 0;
}

int HttpReader::State::end_headers() {
  if (is_value && end_header() != 0) return -1;
  is_header = false;
  parser.upgrade = 0;  // requests for another protocol are ignored
  message.keep_alive = http_should_keep_alive(&parser) != 0;
  constexpr auto kUnknown = ~std::uint64_t{0};  // the length of a chunked body, or of none
  if (parser.content_length != kUnknown && parser.content_length > kHttpBytesMax)
    return fails("it is too large");
  if (parser.type == HTTP_RESPONSE) {
    message.status = static_cast<int>(parser.status_code);
    return message.status >= 100 ? 0 : fails("its status is none");
  }
  message.method = http_method_str(static_cast<http_method>(parser.method));
  return take_url();
}

int HttpReader::State::take_url() {
  const std::size_t mark = url.find('?');
  const auto path = decoded(std::string_view(url).substr(0, mark));
  if (!path || !path->starts_with('/')) return fails("it asks for no path");
  message.path = *path;
  if (mark != std::string::npos) message.query = url.substr(mark + 1);
  return 0;
}

http_parser_settings HttpReader::State::callbacks() {
  http_parser_settings calls;
  http_parser_settings_init(&calls);
  calls.on_message_begin = [](http_parser* p) { return of(p).begin(); };
  calls.on_url = [](http_parser* p, const char* at, std::size_t length) {
    of(p).url.append(at, length);
    return 0;
  };
  calls.on_header_field = [](http_parser* p, const char* at, std::size_t length) {
    return of(p).add_field({at, length});
  };
  calls.on_header_value = [](http_parser* p, const char* at, std::size_t length) {
    return of(p).add_value({at, length});
  };
  calls.on_headers_complete = [](http_parser* p) { return of(p).end_headers(); };
  calls.on_body = [](http_parser* p, const char* at, std::size_t length) {
    return of(p).add_body({at, length});
  };
  calls.on_message_complete = [](http_parser* p) { return of(p).end(); };
  return calls;
}

HttpReader::HttpReader(Of of) : state_(std::make_unique<State>()) {
  http_parser_init(&state_->parser, of == Of::kRequests ? HTTP_REQUEST : HTTP_RESPONSE);
  state_->parser.data = state_.get();
}
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;
HttpReader::~HttpReader() = default;

Status HttpReader::feed(std::string_view bytes) {
  static const http_parser_settings kCallbacks = State::callbacks();
  // Empty input would signal the end of the connection to the library.
  if (bytes.empty() || state_->is_last) return {};
  http_parser_execute(&state_->parser, &kCallbacks, bytes.data(), bytes.size());
  const http_errno error = HTTP_PARSER_ERRNO(&state_->parser);
  if (error == HPE_OK || state_->is_last) return {};
  if (!state_->problem.empty()) return input_error("an HTTP message: {}", state_->problem);
  return input_error("an HTTP message: {}", http_errno_description(error));
}

std::optional<HttpMessage> HttpReader::next() {
  if (state_->whole.empty()) return std::nullopt;
  HttpMessage message = std::move(state_->whole.front());
  state_->whole.pop_front();
  state_->whole_bytes -= bytes_of(message);
  return message;
}

HttpReader::Kept HttpReader::kept() const {
  const State& state = *state_;
  if (!state.has_begun) return {.whole = state.whole_bytes};
  return {.whole = state.whole_bytes,
          .incomplete =
              bytes_of(state.message) + state.url.size() + state.field.size() + state.value.size()};
}

std::string http_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string http_request(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view token) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", method, target);
  if (!token.empty()) out += fmt::format("Authorization: Bearer {}\r\n", token);
  if (!body.empty()) out += "Content-Type: application/json\r\n";
  if (!body.empty() || method != "GET") out += fmt::format("Content-Length: {}\r\n", body.size());
  return fmt::format("{}\r\n{}", out, body);
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) {
      return decoded(part.substr(name.size() + 1)).value_or("");
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view part = cookies.substr(0, end);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      return part.substr(name.size() + 1);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (cookies.starts_with(' ')) cookies.remove_prefix(1);
  }
  return {};
}

std::string http_response(int status, std::string_view content_type, std::string_view body,
                          bool keep_alive, std::string_view headers) {
  // The response must not be cached, sniffed for another type, or framed by another site's page.
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: "
      "DENY\r\n{}\r\n{}",
      status, http_status_str(static_cast<http_status>(status)), content_type, body.size(),
      keep_alive ? "keep-alive" : "close", headers, body);
}

}  // namespace fairlead
