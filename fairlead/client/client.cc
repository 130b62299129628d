#include "fairlead/client/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace fairlead {

Client::Client(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), reader_(HttpReader::Of::kResponses) {}

Client::Client(Client&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      reader_(std::move(other.reader_)) {}

Client& Client::operator=(Client&& other) noexcept {
  path_.swap(other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(reader_, other.reader_);
  return *this;
}

Client::~Client() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Client> Client::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return input_error("a socket's path has at most {} bytes: {}", sizeof address.sun_path - 1,
                       path);
  }
  std::ranges::copy(path, address.sun_path);
  Client client(path, ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.descriptor_ < 0) return run_error("cannot open a socket: {}", std::strerror(errno));
  if (::connect(client.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
      0)
    return client;
  if (errno == EACCES)
    return run_error("this account has no access to the fairlead daemon at {}: {}", path,
                     std::strerror(errno));
  return run_error("no fairlead daemon answers at {}; is `fairlead serve` running?", path);
}

namespace {

// Like send(2), and passes `file` along (SCM_RIGHTS).
ssize_t send_with(int socket, std::string& bytes, int file) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &file, sizeof file);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

Status Client::send(std::string_view method, std::string_view target, std::string_view body,
                    int file) {
  std::string bytes = http_request(method, target, body);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const bool has_file = file >= 0 && sent == 0;
    const ssize_t now = has_file
                            ? send_with(descriptor_, bytes, file)
                            : ::send(descriptor_, &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0)
      return run_error("lost the fairlead daemon at {}: {}", path_, std::strerror(errno));
    sent += static_cast<std::size_t>(now);
  }
  return {};
}

Result<HttpMessage> Client::receive() {
  std::array<char, 1 << 16> bytes;
  for (;;) {
    if (auto message = reader_.next()) return std::move(*message);
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return run_error("lost the fairlead daemon at {}: {}", path_, std::strerror(errno));
    if (count == 0) return run_error("the fairlead daemon at {} closed the connection", path_);
    FL_TRY(reader_.feed({bytes.data(), static_cast<std::size_t>(count)}));
  }
}

Result<HttpMessage> Client::ask(std::string_view method, std::string_view target,
                                std::string_view body) {
  FL_TRY(send(method, target, body));
  return receive();
}

}  // namespace fairlead
