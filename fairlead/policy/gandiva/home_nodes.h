// The nodes of gandiva, by the orders in which it looks for a home on one node.
//
// add, change, queries: O(log nodes).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"
#include "fairlead/model/cluster.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace fairlead {

struct HomeNode {
  GpuTypeId type;
  std::uint32_t gpus = 0;      // GPUs of the node; if it is down, before that
  std::uint32_t affinity = 0;  // undefined while no job lives here
  std::uint32_t promised = 0;  // GPUs of all homes here
  std::uint32_t suited = 0;    // jobs of that gang size that live on this node alone
  bool is_down = false;
  std::uint32_t room() const { return is_down ? 0 : gpus - std::min(gpus, promised); }
  double load() const { return static_cast<double>(promised) / static_cast<double>(gpus); }
  void fields(Archive& archive) { archive(affinity, gpus, is_down); }
};

class HomeNodes {
 public:
  // Enters the next node. REQUIRES: its type and its GPUs are set.
  void add(const HomeNode& node);
  // Enters the nodes after load(), which have no homes yet. O(nodes log nodes).
  void enter_loaded(const Cluster& cluster);

  std::size_t size() const { return nodes_.size(); }
  bool has(NodeId node) const { return nodes_.has(node); }
  const HomeNode& operator[](NodeId node) const { return nodes_[node]; }
  // Calls f(HomeNode&), which may change all except the type. REQUIRES: the affinity changes only if the node is empty.
  template <typename F>
  void change(NodeId node, F f) {
    leave(node);
    f(nodes_[node]);
    enter(node);
  }

  // Returns the room of all nodes of these types. O(types).
  std::uint32_t room(TypeMask types) const;

  // An order of nodes: lower values come first, then lower nodes.
  template <typename Value>
  struct Ranked {
    Value value{};
    NodeId node;
    friend auto operator<=>(const Ranked&, const Ranked&) = default;
  };
  using ByRoom = Ranked<std::int64_t>;
  using ByLoad = Ranked<double>;

  // Return the first node of that type that accepts(NodeId), or nothing: an empty one, or one with jobs, with the least
  // room of at least `gpus`. O(log nodes + refusals).
  template <typename Accepts>
  std::optional<ByRoom> tightest_empty(GpuTypeId type, std::uint32_t gpus, Accepts accepts) const {
    return first_in(empty_, type, ByRoom{gpus, NodeId(0)}, accepts);
  }
  template <typename Accepts>
  std::optional<ByRoom> tightest_used(GpuTypeId type, std::uint32_t gpus, Accepts accepts) const {
    return first_in(used_, type, ByRoom{gpus, NodeId(0)}, accepts);
  }
  // The node with jobs and the affinity `gpus` that has the most room, at least `gpus`; the value is below 0.
  template <typename Accepts>
  std::optional<ByRoom> roomiest_alike(GpuTypeId type, std::uint32_t gpus, Accepts accepts) const {
    const auto found =
        first_in(alike_, Kind(type, gpus), ByRoom{-std::int64_t{kNodeGpusMax}, NodeId(0)},
                 [&](NodeId node) { return nodes_[node].room() < gpus || accepts(node); });
    return found && nodes_[found->node].room() >= gpus ? found : std::nullopt;
  }
  // The least loaded node of the affinity `gpus` on which a suited job lives.
  template <typename Accepts>
  std::optional<ByLoad> least_loaded(GpuTypeId type, std::uint32_t gpus, Accepts accepts) const {
    return first_in(shared_, Kind(type, gpus), ByLoad{0, NodeId(0)}, accepts);
  }

  void fields(Archive& archive) { archive(nodes_); }

 private:
  using Kind = std::pair<GpuTypeId, std::uint32_t>;  // type and affinity

  // Returns the first one from `least` on whose node is accepted.
  template <typename Key, typename Value, typename Accepts>
  static std::optional<Value> first_in(const std::map<Key, std::set<Value>>& sets, const Key& key,
                                       const Value& least, Accepts accepts) {
    const auto set = sets.find(key);
    if (set == sets.end()) return std::nullopt;
    const auto found = std::find_if(set->second.lower_bound(least), set->second.end(),
                                    [&](const Value& at) { return accepts(at.node); });
    return found == set->second.end() ? std::nullopt : std::optional(*found);
  }

  // Calls f(set, value) with each set that the node is in by its present state, and its value there.
  template <typename F>
  void for_each_set_of(NodeId node, F f);
  void enter(NodeId node);
  void leave(NodeId node);

  IdVector<NodeId, HomeNode> nodes_;
  // These follow from the nodes.
  std::map<GpuTypeId, std::uint32_t> room_;
  std::map<GpuTypeId, std::set<ByRoom>> empty_;
  std::map<GpuTypeId, std::set<ByRoom>> used_;
  std::map<Kind, std::set<ByRoom>> alike_;   // used nodes by falling room
  std::map<Kind, std::set<ByLoad>> shared_;  // used nodes with suited jobs
};

}  // namespace fairlead
