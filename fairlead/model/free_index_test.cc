#include "fairlead/model/free_index.h"

#include "fairlead/base/rng.h"
#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

namespace fairlead {
namespace {

// The plain version: two counts per node, and a scan for every question.
class PlainFree {
 public:
  explicit PlainFree(const Cluster& cluster)
      : cluster_(cluster), free_(cluster.node_gpus), gpus_(cluster.node_gpus) {}

  std::uint32_t on(NodeId node) const { return free_[node]; }
  std::uint32_t taken(NodeId node) const { return gpus_[node] - std::uint32_t{free_[node]}; }
  bool is_down(NodeId node) const { return gpus_[node] == 0; }
  std::uint32_t of(TypeMask types) const {
    return sum([&](NodeId node) { return has(types, node) ? on(node) : 0; });
  }
  std::uint32_t capacity(TypeMask types) const {
    return sum([&](NodeId node) { return has(types, node) ? gpus_[node] : 0U; });
  }

  std::uint32_t room(TypeMask types, std::uint32_t task) const {
    return sum([&](NodeId node) { return has(types, node) ? on(node) / task * task : 0; });
  }

  NodeId first(GpuTypeId type, std::uint32_t gpus, NodeRange range) const {
    return least(type, range, [&](NodeId node) { return cost_if(on(node) >= gpus, 0); });
  }
  NodeId first_idle(GpuTypeId type, NodeRange range) const {
    return least(type, range,
                 [&](NodeId node) { return cost_if(gpus_[node] > 0 && taken(node) == 0, 0); });
  }
  NodeId tightest(GpuTypeId type, std::uint32_t gpus, NodeRange range) const {
    return least(type, range, [&](NodeId node) { return cost_if(on(node) >= gpus, on(node)); });
  }
  NodeId freest(GpuTypeId type, NodeRange range) const {
    return least(type, range,
                 [&](NodeId node) { return cost_if(on(node) > 0, kNodeGpusMax - on(node)); });
  }

  void take(NodeId node, std::uint32_t gpus) { set_free(node, free_[node] - gpus); }
  void give(NodeId node, std::uint32_t gpus) { set_free(node, free_[node] + gpus); }
  void set_gpus(NodeId node, std::uint32_t gpus) {
    set_free(node, gpus - taken(node));
    gpus_[node] = static_cast<std::uint16_t>(gpus);
  }

 private:
  static std::optional<std::uint32_t> cost_if(bool eligible, std::uint32_t cost) {
    return eligible ? std::optional(cost) : std::nullopt;
  }
  bool has(TypeMask types, NodeId node) const {
    return (types & type_bit(cluster_.node_type[node])) != 0;
  }
  void set_free(NodeId node, std::uint32_t gpus) { free_[node] = static_cast<std::uint16_t>(gpus); }
  template <class Count>
  std::uint32_t sum(const Count& count) const {
    std::uint32_t total = 0;
    for (NodeId node : ids<NodeId>(free_.size())) total += count(node);
    return total;
  }
  // The lowest of the nodes with the least cost; a node without cost does not count.
  template <class Cost>
  NodeId least(GpuTypeId type, NodeRange range, const Cost& cost_of) const {
    NodeId best;
    std::optional<std::uint32_t> least;
    for (std::size_t row = range.begin; row < range.end; ++row) {
      const NodeId node(row);
      const std::optional<std::uint32_t> cost = cost_of(node);
      if (cluster_.node_type[node] != type || !cost || (least && *least <= *cost)) continue;
      best = node;
      least = cost;
    }
    return best;
  }

  const Cluster& cluster_;
  IdVector<NodeId, std::uint16_t> free_;
  IdVector<NodeId, std::uint16_t> gpus_;  // that are up
};

// Nodes of three types and sizes 1 to 8 in four racks.
Cluster mixed_cluster(Rng& rng, std::size_t count) {
  constexpr std::array<const char*, 3> kTypes = {"V100", "P100", "K80"};
  std::vector<NodeSpec> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back({.name = "",
                     .gpu_type = kTypes[rng.below(3)],
                     .gpus = static_cast<std::uint32_t>(1 + rng.below(8)),
                     .host = "",
                     .rack = fmt::format("r{}", i * 4 / count)});
  }
  return *build_cluster("mixed", Links{}, nodes);
}

void expect_counts(const FreeIndex& index, const PlainFree& plain, const Cluster& cluster) {
  ASSERT_EQ(index.total(), plain.of(kAllTypes));
  ASSERT_EQ(index.capacity(), plain.capacity(kAllTypes));
  ASSERT_EQ(index.all_free(), plain.of(kAllTypes) == plain.capacity(kAllTypes));
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    ASSERT_EQ(index.of(type), plain.of(type_bit(type)));
    ASSERT_EQ(index.capacity(type), plain.capacity(type_bit(type)));
  }
  ASSERT_EQ(index.of(TypeMask{5}), plain.of(TypeMask{5}));
  for (std::uint32_t task = 1; task <= 9; ++task) {
    ASSERT_EQ(index.room(TypeMask{5}, task), plain.room(TypeMask{5}, task));
  }
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    ASSERT_EQ(index.on(node), plain.on(node)) << "node " << node.row();
    ASSERT_EQ(index.is_down(node), plain.is_down(node)) << "node " << node.row();
  }
}

void expect_queries(const FreeIndex& index, const PlainFree& plain, const Cluster& cluster,
                    Rng& rng) {
  const GpuTypeId type(rng.below(cluster.type_names.size()));
  const auto gpus = static_cast<std::uint32_t>(1 + rng.below(10));
  const auto a = static_cast<std::uint32_t>(rng.below(cluster.nodes() + 1));
  const auto b = static_cast<std::uint32_t>(rng.below(cluster.nodes() + 1));
  const NodeRange rack = cluster.rack_nodes[RackId(rng.below(cluster.rack_nodes.size()))];
  for (NodeRange range : {NodeRange{std::min(a, b), std::max(a, b)}, rack, index.everywhere()}) {
    ASSERT_EQ(index.first(type, gpus, range), plain.first(type, gpus, range));
    ASSERT_EQ(index.first_idle(type, range), plain.first_idle(type, range));
    ASSERT_EQ(index.tightest(type, gpus, range), plain.tightest(type, gpus, range));
    ASSERT_EQ(index.freest(type, range), plain.freest(type, range));
  }
}

// One random operation that is allowed in the present state, on both.
void step(FreeIndex& index, PlainFree& plain, const Cluster& cluster, Rng& rng) {
  const NodeId node(rng.below(cluster.nodes()));
  const std::uint64_t kind = rng.below(10);
  if (kind == 0) {
    const std::uint32_t most = cluster.node_gpus[node] - plain.taken(node);
    const auto gpus = static_cast<std::uint32_t>(plain.taken(node) + rng.below(most + 1));
    index.set_gpus(node, gpus);
    plain.set_gpus(node, gpus);
  } else if (kind < 6) {
    if (plain.on(node) == 0) return;
    const auto gpus = static_cast<std::uint32_t>(1 + rng.below(plain.on(node)));
    index.take(node, gpus);
    plain.take(node, gpus);
  } else {
    if (plain.taken(node) == 0) return;
    const auto gpus = static_cast<std::uint32_t>(1 + rng.below(plain.taken(node)));
    index.give(node, gpus);
    plain.give(node, gpus);
  }
}

void behave_like_a_scan(Rng& rng, std::size_t nodes, int steps, int steps_per_query) {
  const Cluster cluster = mixed_cluster(rng, nodes);
  FreeIndex index(cluster);
  PlainFree plain(cluster);
  for (int i = 0; i < steps; ++i) {
    step(index, plain, cluster, rng);
    if (i % steps_per_query != 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_queries(index, plain, cluster, rng)) << "step " << i;
    if (i % (16 * steps_per_query) == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_counts(index, plain, cluster)) << "step " << i;
    }
  }
}

class FreeIndexModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FreeIndexModel, BehavesLikeAScan) {
  Rng rng(GetParam());
  // More than two words of nodes.
  behave_like_a_scan(rng, 150, 5'000, 1);
}

TEST_P(FreeIndexModel, BehavesLikeAScanOfThousandsOfNodes) {
  Rng rng(GetParam());
  // More than two words of words.
  behave_like_a_scan(rng, 9'000, 40'000, 400);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FreeIndexModel, testing::Values(1, 2, 3, 4));

Cluster two_nodes() {
  return *build_cluster("two", Links{},
                        {{.name = "", .gpu_type = "V100", .gpus = 4, .host = "", .rack = ""},
                         {.name = "", .gpu_type = "V100", .gpus = 2, .host = "", .rack = ""}});
}

TEST(FreeIndex, PrefersTheTightestNodeAndTheLowestAmongEquals) {
  const Cluster cluster = two_nodes();
  FreeIndex index(cluster);
  const GpuTypeId v100(0);
  EXPECT_EQ(index.tightest(v100, 1, index.everywhere()), NodeId(1));
  EXPECT_EQ(index.freest(v100, index.everywhere()), NodeId(0));
  index.take(NodeId(0), 2);
  EXPECT_EQ(index.tightest(v100, 1, index.everywhere()), NodeId(0));
  EXPECT_EQ(index.freest(v100, index.everywhere()), NodeId(0));
}

TEST(FreeIndex, RoomIsWhatWholeTasksCanUse) {
  const Cluster cluster = two_nodes();
  FreeIndex index(cluster);
  EXPECT_EQ(index.room(kAllTypes, 1), 6U);
  EXPECT_EQ(index.room(kAllTypes, 2), 6U);
  EXPECT_EQ(index.room(kAllTypes, 3), 3U);
  EXPECT_EQ(index.room(kAllTypes, 5), 0U);
  index.take(NodeId(0), 1);
  EXPECT_EQ(index.room(kAllTypes, 2), 4U);
  EXPECT_EQ(index.room(TypeMask{0}, 2), 0U);
}

TEST(FreeIndex, FindsNothingInAnEmptyRangeOrBeyondTheLargestNode) {
  const Cluster cluster = two_nodes();
  const FreeIndex index(cluster);
  EXPECT_TRUE(index.first(GpuTypeId(0), 1, {1, 1}).is_none());
  EXPECT_TRUE(index.first(GpuTypeId(0), 5, index.everywhere()).is_none());
  EXPECT_TRUE(index.tightest(GpuTypeId(0), 5, index.everywhere()).is_none());
}

TEST(FreeIndex, ANodeHasTheGpusThatAreUp) {
  const Cluster cluster = two_nodes();
  FreeIndex index(cluster);
  index.take(NodeId(0), 3);
  index.set_gpus(NodeId(0), 3);
  EXPECT_EQ(index.on(NodeId(0)), 0U);
  EXPECT_EQ(index.capacity(), 5U);
  index.give(NodeId(0), 3);
  EXPECT_EQ(index.on(NodeId(0)), 3U);
  EXPECT_EQ(index.first_idle(GpuTypeId(0), index.everywhere()), NodeId(0));
  index.set_gpus(NodeId(0), 0);
  EXPECT_TRUE(index.is_down(NodeId(0)));
  EXPECT_EQ(index.total(), 2U);
}

TEST(FreeIndexDeathTest, RefusesToOvercommit) {
  const Cluster cluster = two_nodes();
  FreeIndex index(cluster);
  EXPECT_DEATH(index.take(NodeId(1), 3), "node 1 has 2 free GPUs, not 3");
  EXPECT_DEATH(index.give(NodeId(1), 1), "would have 3 free GPUs of 2");
  index.take(NodeId(0), 2);
  EXPECT_DEATH(index.set_gpus(NodeId(0), 1), "node 0 gets 1 GPUs; 2 are taken");
}

}  // namespace
}  // namespace fairlead
