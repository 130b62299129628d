#include "fairlead/copies/copy_stream.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace fairlead {
namespace {

constexpr std::size_t kHeaderBytesMax = 64;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Returns the sizes of "12 4000"; nothing: it is not a header.
std::optional<std::pair<std::uint64_t, std::uint64_t>> sizes_of(std::string_view header) {
  const std::size_t space = header.find(' ');
  if (space == header.npos) return std::nullopt;
  const auto line = parse_integer(header.substr(0, space));
  const auto content = parse_integer(header.substr(space + 1));
  if (!line || !content || *line < 0 || *content < 0) return std::nullopt;
  return std::pair(static_cast<std::uint64_t>(*line), static_cast<std::uint64_t>(*content));
}

}  // namespace

bool write_content(const std::filesystem::path& file, std::string_view content) {
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  return out.good();
}

CopyStream::CopyStream(Descriptor socket, std::uint64_t bytes_max)
    : socket_(std::move(socket)), bytes_max_(bytes_max) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  // A machine that disappears is missed within a minute.
  for (const auto& [option, value] :
       {std::pair(TCP_KEEPIDLE, 30), std::pair(TCP_KEEPINTVL, 10), std::pair(TCP_KEEPCNT, 3),
        std::pair(TCP_USER_TIMEOUT, 60'000)})
    ::setsockopt(socket_.get(), IPPROTO_TCP, option, &value, sizeof value);
}

void CopyStream::allow_any_size() { bytes_max_ = std::numeric_limits<std::int64_t>::max(); }

void CopyStream::send(std::string_view line, std::string_view content) {
  if (is_closed_) return;
  out_.erase(0, sent_);
  sent_ = 0;
  out_ += fmt::format("{} {}\n", line.size(), content.size());
  out_ += line;
  out_ += content;
}

void CopyStream::add_file(std::vector<pollfd>& files) const {
  const int events = has_sent_all() ? POLLIN : POLLIN | POLLOUT;
  files.push_back({.fd = socket_.get(), .events = static_cast<short>(events), .revents = 0});
}

// Gives up on the other side; poll(2) then reports the socket.
void CopyStream::refuse() {
  is_closed_ = true;
  in_.clear();
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void CopyStream::pump() {
  if (!is_closed_) write_more();
  if (!is_closed_) read_more();
}

void CopyStream::write_more() {
  while (!has_sent_all()) {
    const ssize_t sent =
        ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      // The other side has closed; its last messages are still to be read.
      if (errno != EAGAIN) sent_ = out_.size();
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
}

void CopyStream::read_more() {
  for (;;) {
    const std::size_t before = in_.size();
    in_.resize(before + kReadBytes);
    const ssize_t got = ::recv(socket_.get(), in_.data() + before, kReadBytes, 0);
    in_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      is_closed_ = true;
      return;
    }
    if (in_.size() > bytes_max_ + kHeaderBytesMax) return;  // take() looks at it first
  }
}

std::optional<CopyMessage> CopyStream::take() {
  const std::size_t end = in_.substr(0, kHeaderBytesMax).find('\n');
  if (end == std::string::npos) {
    if (in_.size() >= kHeaderBytesMax) refuse();
    return std::nullopt;
  }
  const auto sizes = sizes_of(std::string_view(in_).substr(0, end));
  if (!sizes || sizes->first > bytes_max_ || sizes->second > bytes_max_ - sizes->first) {
    refuse();
    return std::nullopt;
  }
  const std::size_t begin = end + 1;
  if (in_.size() - begin < sizes->first + sizes->second) return std::nullopt;
  CopyMessage message{.line = in_.substr(begin, sizes->first),
                      .content = in_.substr(begin + sizes->first, sizes->second)};
  in_.erase(0, begin + sizes->first + sizes->second);
  return message;
}

}  // namespace fairlead
