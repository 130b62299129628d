#include "fairlead/io/connections.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <vector>

namespace fairlead {
namespace {

using Kind = IoEvent::Kind;

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

Descriptor tcp_socket() { return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

std::uint16_t free_port() {
  const Descriptor socket = tcp_socket();
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(socket.get(), generic, size), 0);
  EXPECT_EQ(::getsockname(socket.get(), generic, &size), 0);
  return ntohs(address.sin_port);
}

class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest() : connections_(epoll_, 12) {  // a quarter of them, 3, for unknown peers
    EXPECT_TRUE(connections_.open_port(port_).has_value());
  }
  Descriptor connect() {
    Descriptor socket = tcp_socket();
    const sockaddr_in address = local(port_);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return socket;
  }
  IoEvent next() {
    for (;;) {
      while (const auto ready = epoll_.take()) {
        if (const auto event = connections_.handle(*ready)) return *event;
      }
      epoll_.look(true);
    }
  }

  const std::uint16_t port_ = free_port();
  Epoll epoll_ = Epoll::create().value();
  Connections connections_;
};

TEST_F(ConnectionsTest, OneThatWasSilentLongestMakesRoomForAnother) {
  std::vector<Descriptor> sockets;
  std::vector<ConnectionId> ids;
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(connect());
    const IoEvent event = next();
    ASSERT_EQ(event.kind, Kind::kConnected);
    EXPECT_TRUE(event.peer.is_unknown);
    ids.push_back(event.connection);
  }
  ASSERT_EQ(::send(sockets[0].get(), "x", 1, MSG_NOSIGNAL), 1);
  ASSERT_EQ(next().kind, Kind::kReceived);
  for (int i = 1; i < 3; ++i) {
    sockets.push_back(connect());
    bool has_connected = false;
    bool has_closed = false;
    while (!has_connected || !has_closed) {
      const IoEvent event = next();
      has_connected = has_connected || event.kind == Kind::kConnected;
      if (event.kind != Kind::kClosed) continue;
      has_closed = true;
      EXPECT_EQ(event.connection, ids[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace
}  // namespace fairlead
