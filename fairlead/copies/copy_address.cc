#include "fairlead/copies/copy_address.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace fairlead {
namespace {

constexpr int kBacklog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns no address if the name is not known.
Addresses look_up(const CopyAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

Descriptor socket_for(const addrinfo& address) {
  return Descriptor(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                             address.ai_protocol));
}

bool connects(const Descriptor& socket, const addrinfo& address, std::chrono::milliseconds limit) {
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd file = {.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&file, 1, static_cast<int>(limit.count())) <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

Result<CopyAddress> parse_copy_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == text.npos ? "" : text.substr(colon + 1);
  const auto number = parse_integer(port);
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || !number || *number < 0 || *number > 65'535)
    return input_error("an address is like node7:7070: {}", text);
  return CopyAddress{std::string(host), std::string(port)};
}

Result<Descriptor> listen_at(const CopyAddress& address) {
  const Addresses addresses = look_up(address, AI_PASSIVE);
  if (addresses == nullptr) return input_error("{}: no such address", address.host);
  Descriptor socket = socket_for(*addresses);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool listens = ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) == 0 &&
                       ::listen(socket.get(), kBacklog) == 0;
  if (!listens) return run_error("{}:{}: {}", address.host, address.port, std::strerror(errno));
  return socket;
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  const auto port = address.ss_family == AF_INET6
                        ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                        : reinterpret_cast<const sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

Descriptor connect_to(const CopyAddress& address, std::chrono::milliseconds limit) {
  const Addresses addresses = look_up(address, 0);
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor socket = socket_for(*each);
    if (socket.is_open() && connects(socket, *each, limit)) return socket;
  }
  return {};
}

}  // namespace fairlead
