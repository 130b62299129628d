// Clients on a Unix socket and optionally on a TCP port of this machine. Input is read as it arrives. Output waits in
// memory, up to a limit, until the client takes it. If unknown peers have too many connections, a new one ends the
// connection of theirs that was silent longest.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/io/epoll.h"
#include "fairlead/io/io.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

class Connections {
 public:
  // Listens at `path`; every user of the machine may connect. `epoll` must outlive the object and stay in place. Error:
  // another daemon listens there, or the system refuses.
  static Result<Connections> open(const std::filesystem::path& path, Epoll& epoll,
                                  std::size_t count_max);
  // Listens nowhere yet. As open() otherwise.
  Connections(Epoll& epoll, std::size_t count_max);
  // Listens at that port, too, of this machine's `address` (IPv4; "0.0.0.0": of all). REQUIRES: called
  // once at most. Error: as of open().
  Status open_port(std::uint16_t port, const std::string& address = "127.0.0.1");
  Connections(Connections&&) = default;
  Connections& operator=(Connections&&) = delete;
  ~Connections();

  // Returns the event of a ready descriptor; nothing if the descriptor is not a connection, or has no news. The caller
  // sets Peer::is_admin.
  std::optional<IoEvent> handle(const Epoll::Ready& ready);
  // Like the functions of Io. A client with more than 16 MiB of unread output is disconnected.
  void send(ConnectionId connection, std::string_view bytes);
  void close(ConnectionId connection);
  // The terminal or input that came over it; -1: none did, or the connection is gone. It stays this object's.
  int passed(ConnectionId connection) const;

 private:
  struct Connection {
    Descriptor socket;
    std::uint32_t uid = 0;
    std::string unsent{};
    bool is_closing = false;  // once everything was sent
    Descriptor passed{};      // if one came
    std::uint64_t heard = 0;  // the number of its last event
    bool makes_room = false;  // it is being ended for another one
  };
  using Map = std::map<ConnectionId, Connection>;

  Connections(Descriptor listener, std::filesystem::path path, Epoll& epoll, std::size_t count_max);
  std::optional<IoEvent> accept(const Descriptor& listener);
  std::optional<IoEvent> receive(Map::iterator found);
  ssize_t read_into_received(Connection& connection);
  bool flush(Connection& connection) const;
  void watch(Map::iterator found);
  void drop(Map::iterator found);
  bool has_room_for(std::uint32_t uid) const;
  void make_room_for_unknown();
  void listen(bool does);

  Descriptor listener_;
  std::filesystem::path path_;
  Epoll* epoll_;
  std::size_t count_max_;
  std::uint64_t listener_number_ = 0;
  Descriptor port_;  // none: it listens at no port
  std::uint64_t port_number_ = 0;
  bool listens_ = true;
  Map connections_;
  std::uint64_t heard_ = 0;  // events of connections so far
  std::string received_;
};

}  // namespace fairlead
