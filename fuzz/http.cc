// HTTP of any bytes: messages, or an error. The result does not depend on how the bytes are cut
// into pieces, and the buffer never exceeds the limit.

#include "fairlead/http/http.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

struct Outcome {
  std::vector<std::string> messages;
  bool has_failed = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(HttpReader::Of of, std::string_view bytes, std::size_t piece) {
  HttpReader reader(of);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size() && !outcome.has_failed; at += piece) {
    outcome.has_failed = !reader.feed(bytes.substr(at, piece)).has_value();
    while (const auto m = reader.next()) {
      FL_CHECK(m->body.size() <= kHttpBytesMax && (m->status != 0 || m->path.starts_with('/')));
      outcome.messages.push_back(fmt::format("{} {} {} {} {} {} {} {}", m->method, m->path,
                                             m->query, m->host, m->token, m->status, m->body,
                                             m->keep_alive));
    }
  }
  return outcome;
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fairlead::HttpReader;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto of : {HttpReader::Of::kRequests, HttpReader::Of::kResponses}) {
    const auto whole = fairlead::read(of, bytes, std::max<std::size_t>(size, 1));
    FL_CHECK(fairlead::read(of, bytes, 1) == whole);
    FL_CHECK(fairlead::read(of, bytes, 7) == whole);
  }
  return 0;
}
