#include "fairlead/policy/gandiva/home_nodes.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr std::uint32_t kNodes = 12;
constexpr std::uint32_t kGpus = 4;  // GPUs of each node

// The plain version: the first of the nodes that `is_it` selects, by `value` and number.
template <typename IsIt, typename Value>
NodeId first(const HomeNodes& nodes, IsIt is_it, Value value) {
  NodeId best;
  for (NodeId id : ids<NodeId>(nodes.size())) {
    const HomeNode& node = nodes[id];
    if (is_it(node) && (best.is_none() || value(node) < value(nodes[best]))) best = id;
  }
  return best;
}

template <typename Found>
NodeId node_of(const Found& found) {
  return found ? found->node : NodeId::none();
}

TEST(HomeNodes, FindWhatASearchOfAllNodesFinds) {
  Rng rng(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  HomeNodes nodes;
  for (std::uint32_t i = 0; i < kNodes; ++i) nodes.add({.type = GpuTypeId(i % 2), .gpus = kGpus});
  const auto room = [](const HomeNode& node) { return static_cast<double>(node.room()); };
  const auto is_empty = [](const HomeNode& node) { return node.promised == 0; };
  for (int change = 0; change < 2'000; ++change) {
    const NodeId changed(below(kNodes));
    if (nodes[changed].promised > 0)
      nodes.change(changed, [](HomeNode& node) { node.promised = node.suited = 0; });
    nodes.change(changed, [&](HomeNode& node) { node.affinity = 1 + below(3); });
    nodes.change(changed, [&](HomeNode& node) {
      node.promised = below(2 * kGpus);
      node.suited = node.promised > 0 ? below(2) : 0;
      node.is_down = below(8) == 0;
    });
    const GpuTypeId type(below(2));
    const std::uint32_t gpus = 1 + below(kGpus);
    const NodeId refused(below(kNodes));
    const auto accepts = [&](NodeId node) { return node != refused; };
    const auto is_there = [&](const HomeNode& node) {
      return node.type == type && &node != &nodes[refused];
    };
    const auto fits = [&](const HomeNode& node) { return is_there(node) && node.room() >= gpus; };
    const auto is_alike = [&](const HomeNode& node) {
      return node.promised > 0 && node.affinity == gpus;
    };
    EXPECT_EQ(node_of(nodes.tightest_empty(type, gpus, accepts)),
              first(
                  nodes, [&](const HomeNode& node) { return fits(node) && is_empty(node); }, room));
    EXPECT_EQ(
        node_of(nodes.tightest_used(type, gpus, accepts)),
        first(
            nodes, [&](const HomeNode& node) { return fits(node) && !is_empty(node); }, room));
    EXPECT_EQ(node_of(nodes.roomiest_alike(type, gpus, accepts)),
              first(
                  nodes, [&](const HomeNode& node) { return fits(node) && is_alike(node); },
                  [&](const HomeNode& node) { return -room(node); }));
    EXPECT_EQ(node_of(nodes.least_loaded(type, gpus, accepts)),
              first(
                  nodes,
                  [&](const HomeNode& node) {
                    return is_there(node) && is_alike(node) && node.suited > 0;
                  },
                  [](const HomeNode& node) { return node.load(); }));
    std::uint32_t all = 0;
    for (NodeId id : ids<NodeId>(kNodes)) all += nodes[id].type == type ? nodes[id].room() : 0;
    EXPECT_EQ(nodes.room(type_bit(type)), all);
  }
}

}  // namespace
}  // namespace fairlead
