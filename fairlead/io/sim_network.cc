#include "fairlead/io/sim_network.h"

#include <algorithm>
#include <utility>

namespace fairlead {

ConnectionId SimNetwork::connect(const Peer& peer) {
  if (calls_.is_dead()) return 0;
  const ConnectionId id = ++last_;
  connections_[id] = {.peer = peer, .last = agenda_.now()};
  arrive(id, IoEvent::Kind::kConnected, "", {});
  return id;
}

void SimNetwork::send(ConnectionId connection, std::string bytes, Duration later) {
  arrive(connection, IoEvent::Kind::kReceived, std::move(bytes), later);
}

void SimNetwork::hang_up(ConnectionId connection, Duration later) {
  arrive(connection, IoEvent::Kind::kClosed, "", later);
}

void SimNetwork::arrive(ConnectionId id, IoEvent::Kind kind, std::string bytes, Duration later) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  connection.last = std::max(connection.last, agenda_.now() + later);
  connection.arrivals.push_back({kind, std::move(bytes)});
  agenda_.plan(connection.last, SimAgenda::Kind::kArrival, id);
}

bool SimNetwork::take_arrival(ConnectionId id, IoEvent& event) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return false;
  Connection& connection = at->second;
  Arrival arrival = std::move(connection.arrivals.front());
  connection.arrivals.pop_front();
  received_ = std::move(arrival.bytes);
  event = {.kind = arrival.kind, .connection = id, .peer = connection.peer, .bytes = received_};
  if (arrival.kind == IoEvent::Kind::kClosed) connections_.erase(at);
  return true;
}

void SimNetwork::deliver(ConnectionId connection, std::string_view bytes) {
  if (clients_ != nullptr) clients_->received(connection, bytes);
}

void SimNetwork::close(ConnectionId connection) {
  if (connections_.erase(connection) == 0) return;
  if (clients_ != nullptr) clients_->closed(connection);
}

void SimNetwork::close_all() {
  for (const auto& [id, connection] : std::exchange(connections_, {})) {
    if (clients_ != nullptr) clients_->closed(id);
  }
}

void SimNetwork::on_wake(std::uint64_t token) {
  if (clients_ != nullptr) clients_->wake(token);
}

}  // namespace fairlead
