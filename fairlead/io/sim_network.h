// The clients of a SimIo, and their connections to its daemons.
//
// A SimClients plays the clients. It is called at their times and when the daemon answers, and must not call the
// daemon. Cost of a call: O(log of the planned events).
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/io/sim_agenda.h"
#include "fairlead/io/sim_calls.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

class SimClients {
 public:
  virtual ~SimClients() = default;
  // Called at the time given to SimNetwork::wake().
  virtual void wake(std::uint64_t token) = 0;
  // received() is called after the daemon sent these bytes, valid during the call; closed() after it closed the
  // connection or crashed.
  virtual void received(ConnectionId connection, std::string_view bytes) = 0;
  virtual void closed(ConnectionId connection) = 0;
};

class SimNetwork {
 public:
  // REQUIRES: the arguments outlive this.
  SimNetwork(SimAgenda& agenda, const SimCalls& calls) : agenda_(agenda), calls_(calls) {}

  // -- For the clients, between waits of the daemon or when they are called.
  void set_clients(SimClients* clients) { clients_ = clients; }
  void wake(std::uint64_t token, Time at) { agenda_.plan(at, SimAgenda::Kind::kClient, token); }
  // Returns 0 if no daemon takes connections.
  ConnectionId connect(const Peer& peer);
  // Delivers bytes after the delay `later`; the bytes of one connection stay in order.
  void send(ConnectionId connection, std::string bytes, Duration later);
  void hang_up(ConnectionId connection, Duration later);
  // Returns the number of connections.
  std::size_t size() const { return connections_.size(); }

  // -- For the SimIo.
  bool has(ConnectionId connection) const { return connections_.contains(connection); }
  // Returns the next arrival at the daemon; its bytes are valid until the next call. False: the connection is gone.
  bool take_arrival(ConnectionId connection, IoEvent& event);
  void deliver(ConnectionId connection, std::string_view bytes);
  void close(ConnectionId connection);
  // Closes all connections, because the daemon is gone.
  void close_all();
  void on_wake(std::uint64_t token);

 private:
  struct Arrival {
    IoEvent::Kind kind;
    std::string bytes;
  };
  struct Connection {
    Peer peer;
    std::deque<Arrival> arrivals;  // to the daemon
    Time last;                     // when the last of them arrives
  };
  void arrive(ConnectionId id, IoEvent::Kind kind, std::string bytes, Duration later);

  SimAgenda& agenda_;
  const SimCalls& calls_;
  SimClients* clients_ = nullptr;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_ = 0;
  std::string received_;  // the bytes of the last arrival
};

}  // namespace fairlead
