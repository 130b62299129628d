#include "fairlead/policy/gandiva/home_nodes.h"

namespace fairlead {

void HomeNodes::add(const HomeNode& node) { enter(nodes_.push_back(node)); }

void HomeNodes::enter_loaded(const Cluster& cluster) {
  for (NodeId node : ids<NodeId>(nodes_.size())) {
    nodes_[node].type = cluster.node_type[node];
    enter(node);
  }
}

std::uint32_t HomeNodes::room(TypeMask types) const {
  std::uint32_t room = 0;
  for (const auto& [type, of_type] : room_) {
    if ((types & type_bit(type)) != 0) room += of_type;
  }
  return room;
}

void HomeNodes::enter(NodeId id) {
  const HomeNode& node = nodes_[id];
  room_[node.type] += node.room();
  const ByRoom by_room{node.room(), id};
  if (node.promised == 0) {
    empty_[node.type].insert(by_room);
    return;
  }
  const Kind kind(node.type, node.affinity);
  used_[node.type].insert(by_room);
  alike_[kind].insert({-by_room.value, id});
  if (node.suited > 0) shared_[kind].insert({node.load(), id});
}

void HomeNodes::leave(NodeId id) {
  const HomeNode& node = nodes_[id];
  room_[node.type] -= node.room();
  const ByRoom by_room{node.room(), id};
  if (node.promised == 0) {
    empty_[node.type].erase(by_room);
    return;
  }
  const Kind kind(node.type, node.affinity);
  used_[node.type].erase(by_room);
  alike_[kind].erase({-by_room.value, id});
  if (node.suited > 0) shared_[kind].erase({node.load(), id});
}

}  // namespace fairlead
