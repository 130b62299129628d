#include "gang.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace trainer {
namespace {

constexpr int kJoinMs = 60'000;
constexpr int kRetryMs = 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &freeaddrinfo};
}

bool send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Returns a socket that listens there, or -1.
int listen_at(const addrinfo& address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, address.ai_addr, address.ai_addrlen) == 0 && listen(listener, SOMAXCONN) == 0)
    return listener;
  close(listener);
  return -1;
}

// Returns a connected socket, or -1 if nothing listens for too long.
int connect_to(const addrinfo& address) {
  for (int waited_ms = 0; waited_ms < kJoinMs; waited_ms += kRetryMs) {
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(peer, address.ai_addr, address.ai_addrlen) == 0) return peer;
    close(peer);
    poll(nullptr, 0, kRetryMs);  // rank 0 may not listen yet
  }
  return -1;
}

}  // namespace

Gang::Gang(Gang&& other) noexcept
    : rank_(other.rank_), size_(other.size_), peers_(std::exchange(other.peers_, {})) {}

Gang::~Gang() {
  for (const int peer : peers_) close(peer);
}

bool Gang::accept_all(int listener) {
  peers_.assign(static_cast<std::size_t>(size_ - 1), -1);
  for (int joined = 1; joined < size_; ++joined) {
    pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kJoinMs) <= 0) return false;
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    std::uint32_t rank = 0;
    const bool is_member = receive_all(peer, std::as_writable_bytes(std::span(&rank, 1))) &&
                           rank > 0 && rank < static_cast<std::uint32_t>(size_) &&
                           peers_[rank - 1] < 0;
    if (!is_member) {
      close(peer);
      return false;
    }
    send_at_once(peer);
    peers_[rank - 1] = peer;
  }
  return true;
}

std::optional<Gang> Gang::join(int rank, int size, const std::string& host, const std::string& port,
                               std::string& error) {
  Gang gang(rank, size);
  if (size == 1) return gang;
  const Addresses addresses = resolve(host, port);
  const int first = !addresses ? -1 : rank == 0 ? listen_at(*addresses) : connect_to(*addresses);
  if (first < 0) {
    error = "rank " + std::to_string(rank) + " finds no way to " + host + ":" + port + ": " +
            strerror(errno);
    return std::nullopt;
  }
  bool is_complete = false;
  if (rank == 0) {
    is_complete = gang.accept_all(first);
    close(first);
  } else {
    const auto number = static_cast<std::uint32_t>(rank);
    gang.peers_ = {first};
    send_at_once(first);
    is_complete = send_all(first, std::as_bytes(std::span(&number, 1)));
  }
  if (is_complete) return gang;
  error = "the other ranks did not come";
  return std::nullopt;
}

// Rank 0: adds the values of the other ranks.
bool Gang::gather(std::span<double> values) {
  others_.resize(values.size());
  for (const int peer : peers_) {
    if (!receive_all(peer, std::as_writable_bytes(std::span(others_)))) return false;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += others_[i];
  }
  return true;
}

bool Gang::sum(std::span<double> values) {
  if (size_ == 1) return true;
  if (rank_ != 0)
    return send_all(peers_[0], std::as_bytes(values)) &&
           receive_all(peers_[0], std::as_writable_bytes(values));
  if (!gather(values)) return false;
  for (const int peer : peers_)
    if (!send_all(peer, std::as_bytes(values))) return false;
  return true;
}

}  // namespace trainer
