#include "fairlead/copies/copy_listener.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>

namespace fairlead {
namespace {

constexpr std::size_t kStrangersMax = 64;

// Takes the same time whatever differs.
bool are_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i % std::max<std::size_t>(b.size(), 1)]);
  return difference == 0;
}

// The type becomes a name in a file of JSON.
bool is_printable(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace

Result<CopyListener> CopyListener::open(const CopyAddress& address, std::string token) {
  FL_TRY_ASSIGN(socket, listen_at(address));
  return CopyListener(std::move(socket), std::move(token));
}

void CopyListener::add_files(std::vector<pollfd>& files) const {
  files.push_back({.fd = socket_.get(), .events = POLLIN, .revents = 0});
  for (const CopyStream& stranger : strangers_) stranger.add_file(files);
}

std::optional<CopyListener::Accepted> CopyListener::next() {
  for (;;) {
    Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) break;
    if (strangers_.size() == kStrangersMax) strangers_.pop_front();
    strangers_.emplace_back(std::move(connection));
  }
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    stranger->pump();
    const std::optional<CopyMessage> greeting = stranger->take();
    if (!greeting && !stranger->is_closed()) {
      ++stranger;
      continue;
    }
    std::optional<Accepted> accepted;
    if (greeting && !stranger->is_closed()) accepted = accept(*stranger, greeting->line);
    stranger = strangers_.erase(stranger);
    if (accepted) return accepted;
  }
  return std::nullopt;
}

std::optional<CopyListener::Accepted> CopyListener::accept(CopyStream& stream,
                                                           const std::string& greeting) const {
  std::istringstream words(greeting);
  std::string hello;
  std::string version;
  std::string token;
  std::uint64_t total = 0;
  double speed = 0;
  std::string type;
  const bool is_whole = words >> hello >> version >> token >> total >> speed &&
                        std::getline(words >> std::ws, type) && hello == "hello" &&
                        is_printable(type) && total > 0 && speed > 0;
  const char* refusal = !is_whole                   ? "refused the greeting has another form"
                        : version != "1"            ? "refused it needs version 1 of the messages"
                        : !are_equal(token, token_) ? "refused the token is another one"
                                                    : nullptr;
  stream.send(refusal == nullptr ? "accepted" : refusal);
  stream.pump();
  if (refusal != nullptr) return std::nullopt;
  stream.allow_any_size();
  return Accepted{std::move(stream), std::move(type), speed, total};
}

}  // namespace fairlead
