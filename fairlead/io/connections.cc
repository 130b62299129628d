#include "fairlead/io/connections.h"

#include "fairlead/base/check.h"
#include "fairlead/io/linger.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

namespace fairlead {
namespace {

constexpr std::size_t kUnsentBytesMax = std::size_t{16} << 20;
constexpr std::size_t kReceivedBytesMax = std::size_t{64} << 10;  // bytes of one event
constexpr int kBacklog = 4096;
constexpr std::uint32_t kIn = EPOLLIN;
constexpr std::uint32_t kOut = EPOLLOUT;

Status failed(const std::filesystem::path& path) {
  return run_error("{}: cannot listen: {}", path.string(), std::strerror(errno));
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Returns whether a process listens there, and which.
std::optional<pid_t> listener_at(const sockaddr_un& address) {
  const Descriptor probe = new_socket();
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), generic, sizeof address) != 0 && errno != EAGAIN) return std::nullopt;
  ucred peer{};
  socklen_t size = sizeof peer;
  ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.pid;
}

// Returns whether it is a pseudo-terminal, a pipe, a plain file or a socket, which no other client can change. Asks no
// file system, because one may not answer.
bool may_be_passed(int descriptor) {
  constexpr unsigned kFirst = 136;  // major numbers of /dev/pts (Linux: admin-guide/devices.txt)
  constexpr unsigned kLast = 143;
  struct statx now {};
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &now) != 0)
    return false;
  if (S_ISFIFO(now.stx_mode) || S_ISREG(now.stx_mode) || S_ISSOCK(now.stx_mode)) return true;
  return S_ISCHR(now.stx_mode) && now.stx_rdev_major >= kFirst && now.stx_rdev_major <= kLast;
}

// Returns the limits of a process. Another process may have its number by now: the limits are not known if that is of
// another user.
ProcessLimits limits_of(pid_t pid, std::uint32_t uid) {
  ProcessLimits limits;
  for (int resource = 0; resource < static_cast<int>(RLIM_NLIMITS); ++resource) {
    rlimit limit{};
    if (::prlimit(pid, static_cast<__rlimit_resource>(resource), nullptr, &limit) != 0) return {};
    limits.resources.push_back(limit.rlim_cur);
    limits.resources.push_back(limit.rlim_max);
  }
  errno = 0;
  limits.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
  struct stat now {};
  const bool is_its = errno == 0 && ::stat(fmt::format("/proc/{}", pid).c_str(), &now) == 0;
  return is_its && now.st_uid == uid ? limits : ProcessLimits();
}

// Removes the socket of a dead daemon.
Status clear(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat now {};
  if (::lstat(path.c_str(), &now) != 0) return {};
  if (!S_ISSOCK(now.st_mode)) return run_error("{} exists, but is not a socket", path.string());
  const std::optional<pid_t> owner = listener_at(address);
  if (owner && !becomes_free(*owner, [&] { return !listener_at(address); }))
    return run_error("{}: another daemon listens there", path.string());
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<Connections> Connections::open(const std::filesystem::path& path, Epoll& epoll,
                                      std::size_t count_max) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path)
    return run_error("the path of a socket has at most {} bytes: {}", sizeof address.sun_path - 1,
                     path.string());
  path.native().copy(address.sun_path, sizeof address.sun_path);
  FL_TRY(clear(path, address));
  Connections made(new_socket(), path, epoll, count_max);
  const int socket = made.listener_.get();
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::listen(socket, kBacklog) != 0) {
    return tl::unexpected(failed(path).error());
  }
  FL_TRY_ASSIGN(number, epoll.add(socket, EPOLLIN));
  made.listener_number_ = number;
  return made;
}

Connections::Connections(Descriptor listener, std::filesystem::path path, Epoll& epoll,
                         std::size_t count_max)
    : listener_(std::move(listener)),
      path_(std::move(path)),
      epoll_(&epoll),
      count_max_(count_max),
      received_(kReceivedBytesMax, '\0') {}

Connections::Connections(Epoll& epoll, std::size_t count_max)
    : Connections(Descriptor(), {}, epoll, count_max) {}

Status Connections::open_port(std::uint16_t port, const std::string& of) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (::inet_pton(AF_INET, of.c_str(), &address.sin_addr) != 1)
    return input_error("{} is not an IPv4 address", of);
  address.sin_port = htons(port);
  port_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;  // works even while connections of the previous daemon have not timed out
  if (::setsockopt(port_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(port_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(port_.get(), kBacklog) != 0) {
    return failed(fmt::format("{}:{}", of, port));
  }
  FL_TRY_ASSIGN(number, epoll_->add(port_.get(), EPOLLIN));
  port_number_ = number;
  return {};
}

Connections::~Connections() {
  if (listener_.is_open() && listener_number_ != 0) ::unlink(path_.c_str());
}

std::optional<IoEvent> Connections::handle(const Epoll::Ready& ready) {
  if (ready.number == listener_number_) return accept(listener_);
  if (port_.is_open() && ready.number == port_number_) return accept(port_);
  const auto found = connections_.find(ready.number);
  if (found == connections_.end()) return std::nullopt;
  if ((ready.events & kOut) != 0 && !flush(found->second)) {
    // The other end's last bytes are received before its end.
    found->second.unsent.clear();
  }
  if (found->second.is_closing) {
    const bool is_broken = (ready.events & (EPOLLERR | EPOLLHUP)) != 0;
    if (is_broken || found->second.unsent.empty()) drop(found);
    return std::nullopt;
  }
  watch(found);
  if ((ready.events & ~kOut) == 0) return std::nullopt;
  return receive(found);
}

std::optional<IoEvent> Connections::accept(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.is_open()) {
    // The process is out of descriptors: clients wait in the queue until a connection ends.
    if ((errno == EMFILE || errno == ENFILE) && !connections_.empty()) listen(false);
    return std::nullopt;
  }
  ucred peer{.pid = 0, .uid = kNoUser, .gid = kNoUser};
  const bool is_unknown = &listener == &port_;
  socklen_t size = sizeof peer;
  if (!is_unknown && ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return std::nullopt;
  if (!has_room_for(peer.uid)) {
    if (!is_unknown) return std::nullopt;
    make_room_for_unknown();
  }
  const Result<std::uint64_t> number = epoll_->add(socket.get(), EPOLLIN);
  if (!number) return std::nullopt;
  Connection& made =
      connections_.emplace(*number, Connection{std::move(socket), peer.uid}).first->second;
  made.heard = ++heard_;
  if (connections_.size() >= count_max_) listen(false);
  return IoEvent{.kind = IoEvent::Kind::kConnected,
                 .connection = *number,
                 .peer = {.uid = peer.uid,
                          .gid = peer.gid,
                          .limits = peer.pid > 0 ? limits_of(peer.pid, peer.uid) : ProcessLimits(),
                          .is_unknown = is_unknown}};
}

// One user leaves a quarter of the connections to the others; unknown peers get a quarter.
bool Connections::has_room_for(std::uint32_t uid) const {
  const auto is_same = [&](const auto& entry) {
    return entry.second.uid == uid && !entry.second.makes_room;
  };
  const std::size_t most = uid == kNoUser ? count_max_ / 4 : count_max_ / 4 * 3;
  return uid == 0 || static_cast<std::size_t>(
                         std::count_if(connections_.begin(), connections_.end(), is_same)) < most;
}

// Ends the connection of an unknown peer that was silent longest. wait() reports its end as for any other.
void Connections::make_room_for_unknown() {
  Connection* oldest = nullptr;
  for (auto& [id, connection] : connections_) {
    if (connection.uid != kNoUser || connection.makes_room) continue;
    if (oldest == nullptr || connection.heard < oldest->heard) oldest = &connection;
  }
  if (oldest == nullptr) return;
  oldest->makes_room = true;
  ::shutdown(oldest->socket.get(), SHUT_RDWR);
}

void Connections::listen(bool does) {
  if (std::exchange(listens_, does) == does) return;
  if (listener_.is_open()) epoll_->change(listener_.get(), listener_number_, does ? kIn : 0);
  if (port_.is_open()) epoll_->change(port_.get(), port_number_, does ? kIn : 0);
}

// Receives like recv(); keeps an accompanying descriptor if it can be a terminal or an input.
ssize_t Connections::read_into_received(Connection& connection) {
  iovec part{received_.data(), received_.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // the system closes descriptors that do not fit
  const ssize_t count =
      ::recvmsg(connection.socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* head = count < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
    return count;
  int number = -1;
  std::memcpy(&number, CMSG_DATA(head), sizeof number);
  Descriptor came(number);
  if (may_be_passed(came.get())) connection.passed = std::move(came);
  return count;
}

int Connections::passed(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? -1 : found->second.passed.get();
}

std::optional<IoEvent> Connections::receive(Map::iterator found) {
  const ssize_t count = read_into_received(found->second);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  const ConnectionId id = found->first;
  found->second.heard = ++heard_;
  if (count > 0)
    return IoEvent{.kind = IoEvent::Kind::kReceived,
                   .connection = id,
                   .bytes = {received_.data(), static_cast<std::size_t>(count)}};
  drop(found);
  return IoEvent{.kind = IoEvent::Kind::kClosed, .connection = id};
}

// Sends the bytes that the other end can take now; false if it is gone.
bool Connections::flush(Connection& connection) const {
  std::size_t sent = 0;
  std::string& unsent = connection.unsent;
  bool is_there = true;
  while (sent < unsent.size()) {
    const ssize_t count = ::send(connection.socket.get(), unsent.data() + sent,
                                 unsent.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      is_there = errno == EAGAIN;
      break;
    }
    sent += static_cast<std::size_t>(count);
  }
  unsent.erase(0, sent);
  return is_there;
}

void Connections::send(ConnectionId id, std::string_view bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.is_closing) return;
  Connection& connection = found->second;
  const bool waited = !connection.unsent.empty();
  connection.unsent += bytes;
  const bool is_there = waited || flush(connection);
  if (!is_there || connection.unsent.size() > kUnsentBytesMax) {
    // wait() reports its end as for any other connection.
    connection.unsent.clear();
    ::shutdown(connection.socket.get(), SHUT_RDWR);
  }
  watch(found);
}

void Connections::close(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.is_closing = true;
  if (found->second.unsent.empty()) return drop(found);
  watch(found);
}

void Connections::watch(Map::iterator found) {
  const Connection& connection = found->second;
  const std::uint32_t in = connection.is_closing ? 0 : kIn;
  const std::uint32_t out = connection.unsent.empty() ? 0 : kOut;
  epoll_->change(connection.socket.get(), found->first, in | out);
}

void Connections::drop(Map::iterator found) {
  epoll_->remove(found->second.socket.get());
  connections_.erase(found);
  listen(true);
}

}  // namespace fairlead
