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

template <typename F>
void HomeNodes::for_each_set_of(NodeId id, F f) {
  const HomeNode& node = nodes_[id];
  const ByRoom by_room{node.room(), id};
  if (node.promised == 0) return f(empty_[node.type], by_room);
  const Kind kind(node.type, node.affinity);
  f(used_[node.type], by_room);
  f(alike_[kind], ByRoom{-by_room.value, id});
  if (node.suited > 0) f(shared_[kind], ByLoad{node.load(), id});
}

void HomeNodes::enter(NodeId id) {
  room_[nodes_[id].type] += nodes_[id].room();
  for_each_set_of(id, [](auto& set, const auto& at) { set.insert(at); });
}

void HomeNodes::leave(NodeId id) {
  room_[nodes_[id].type] -= nodes_[id].room();
  for_each_set_of(id, [](auto& set, const auto& at) { set.erase(at); });
}

}  // namespace fairlead
