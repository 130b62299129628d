#include "fairlead/policy/kit/placement.h"

#include "fairlead/base/rng.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/step.h"
#include "fairlead/model/task_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace fairlead {
namespace {

struct Node {
  std::string type;
  std::uint32_t gpus;
  std::string rack = "r";
};

Cluster cluster_of(const std::vector<Node>& nodes) {
  std::vector<NodeSpec> specs;
  for (const Node& node : nodes) {
    NodeSpec spec;
    spec.gpu_type = node.type;
    spec.gpus = node.gpus;
    spec.rack = node.rack;
    specs.push_back(spec);
  }
  return build_cluster("test", {}, specs).value();
}

// A plan on a cluster some of whose GPUs are taken.
class Draft {
 public:
  Draft(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& taken)
      : cluster_(cluster_of(nodes)), jobs_(waiting_jobs()), plan_(cluster_, jobs_) {
    bool any = false;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] == 0) continue;
      plan_.take(NodeId(i), taken[i]);
      any = true;
    }
    if (any) plan_.place(JobId(0));
  }

  // The gang as "n0:2 n1:4", or "none".
  std::string place(Placement placement, std::uint32_t gpus, TypeMask types = kAllTypes) {
    return place_tasks(placement, gpus, 1, types);
  }
  // Returns the gang for tasks of that many GPUs.
  std::string place_tasks(Placement placement, std::uint32_t gpus, std::uint32_t task_gpus,
                          TypeMask types = kAllTypes) {
    jobs_.task_gpus[JobId(1)] = task_gpus;
    const std::uint32_t before = plan_.free().total();
    if (!fairlead::place(placement, cluster_, plan_, JobId(1), gpus, types)) {
      EXPECT_EQ(plan_.free().total(), before);
      return "none";
    }
    std::string text;
    for (Slice slice : plan_.gang(JobId(1))) {
      if (!text.empty()) text += ' ';
      text += fmt::format("n{}:{}", slice.node.row(), slice.gpus);
    }
    plan_.stop(JobId(1), StopCause::kTurn);
    return text;
  }

  // Returns the gang of a job that asks for levels.
  std::string place_near(Closeness closeness, Placement placement, std::uint32_t gpus) {
    jobs_.closeness[JobId(1)] = closeness;
    return place(placement, gpus);
  }

  // Returns true if no call so far broke a rule of the plan, such as splitting a task.
  bool splits_nothing() const { return plan_.misuse().what.empty(); }

  const Cluster& cluster() const { return cluster_; }
  const FreeIndex& free() const { return plan_.free(); }

 private:
  static Jobs waiting_jobs() {
    Jobs jobs;
    for (std::size_t i : {0UL, 1UL}) jobs.add({.job = JobId(i), .user = UserId(0)}, {});
    for (JobState& state : jobs.state) state = JobState::kWaiting;
    return jobs;
  }

  Cluster cluster_;
  Jobs jobs_;
  Plan plan_;
};

const std::vector<Node> kThreeOfFour = {{"V100", 4}, {"V100", 4}, {"V100", 4}};

TEST(Placement, CountTakesAnyFreeGpusInNodeOrder) {
  Draft draft(kThreeOfFour, {3, 1, 0});
  EXPECT_EQ(draft.place(Placement::kCount, 1), "n0:1");
  EXPECT_EQ(draft.place(Placement::kCount, 3), "n0:1 n1:2");
  EXPECT_EQ(draft.place(Placement::kCount, 8), "n0:1 n1:3 n2:4");
  EXPECT_EQ(draft.place(Placement::kCount, 9), "none");
}

TEST(Placement, FirstFitTakesTheFirstNodeWithRoomAndOnlyElseSpills) {
  Draft draft(kThreeOfFour, {3, 1, 0});
  EXPECT_EQ(draft.place(Placement::kFirstFit, 1), "n0:1");
  EXPECT_EQ(draft.place(Placement::kFirstFit, 2), "n1:2");
  EXPECT_EQ(draft.place(Placement::kFirstFit, 4), "n2:4");
  EXPECT_EQ(draft.place(Placement::kFirstFit, 5), "n0:1 n1:3 n2:1");
}

TEST(Placement, BestFitTakesTheTightestNodeAndOnlyElseTheFreest) {
  Draft draft(kThreeOfFour, {1, 2, 0});
  EXPECT_EQ(draft.place(Placement::kBestFit, 1), "n1:1");
  EXPECT_EQ(draft.place(Placement::kBestFit, 3), "n0:3");
  EXPECT_EQ(draft.place(Placement::kBestFit, 6), "n0:2 n2:4");
  EXPECT_EQ(draft.place(Placement::kBestFit, 8), "n0:3 n1:1 n2:4");
}

TEST(Placement, YarnPutsASmallGangOnTheFirstNodeWithRoomOrNowhere) {
  Draft draft(kThreeOfFour, {3, 2, 2});
  EXPECT_EQ(draft.place(Placement::kYarn, 1), "n0:1");
  EXPECT_EQ(draft.place(Placement::kYarn, 2), "n1:2");
  EXPECT_EQ(draft.place(Placement::kYarn, 3), "none");
}

TEST(Placement, YarnPutsALargeGangOnIdleNodesAndItsRemainderOnTheFirstOtherNode) {
  Draft draft(kThreeOfFour, {2, 0, 0});
  EXPECT_EQ(draft.place(Placement::kYarn, 4), "n1:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 6), "n0:2 n1:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 8), "n1:4 n2:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 7), "n1:4 n2:3");
  EXPECT_EQ(draft.place(Placement::kYarn, 10), "n0:2 n1:4 n2:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 9), "n0:1 n1:4 n2:4");
}

TEST(Placement, YarnStaysInOneRack) {
  const std::vector<Node> nodes = {
      {"V100", 4, "a"}, {"V100", 4, "a"}, {"V100", 4, "b"}, {"V100", 4, "b"}};
  Draft draft(nodes, {1, 0, 0, 0});
  EXPECT_EQ(draft.place(Placement::kYarn, 8), "n2:4 n3:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 7), "n0:3 n1:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 9), "none");
}

TEST(Placement, ConsolidatePutsASmallGangOnTheTightestNodeOrNowhere) {
  Draft draft(kThreeOfFour, {1, 2, 2});
  EXPECT_EQ(draft.place(Placement::kConsolidate, 1), "n1:1");
  EXPECT_EQ(draft.place(Placement::kConsolidate, 3), "n0:3");
  EXPECT_EQ(draft.place(Placement::kConsolidate, 4), "none");
}

TEST(Placement, ConsolidatePutsALargeGangOnIdleNodesAndItsRemainderOnTheFreestOtherNode) {
  Draft draft({{"V100", 4}, {"V100", 4}, {"V100", 4}, {"V100", 4}}, {3, 1, 0, 2});
  EXPECT_EQ(draft.place(Placement::kConsolidate, 5), "n1:1 n2:4");
  EXPECT_EQ(draft.place(Placement::kConsolidate, 7), "n1:3 n2:4");
  EXPECT_EQ(draft.place(Placement::kConsolidate, 8), "none");
}

TEST(Placement, RackFirstConsolidatesWithinTheTightestRackThatHasItAndElseAnywhere) {
  const std::vector<Node> nodes = {{"V100", 4, "a"}, {"V100", 4, "a"}, {"V100", 4, "b"},
                                   {"V100", 4, "b"}, {"V100", 4, "c"}, {"V100", 4, "c"}};
  Draft draft(nodes, {0, 4, 0, 0, 0, 1});
  EXPECT_EQ(draft.place(Placement::kConsolidate, 6), "n0:4 n2:2") << "it looks at no rack";
  EXPECT_EQ(draft.place(Placement::kRackFirst, 6), "n4:4 n5:2") << "c has 7 free, b 8";
  EXPECT_EQ(draft.place(Placement::kRackFirst, 8), "n2:4 n3:4");
  EXPECT_EQ(draft.place(Placement::kRackFirst, 12), "n0:4 n2:4 n3:4") << "no rack has as much";
  EXPECT_EQ(draft.place(Placement::kRackFirst, 3), "n5:3");
  EXPECT_EQ(draft.place(Placement::kRackFirst, 20), "none");
}

TEST(Placement, RackTakesTheTightestNodeAndOnlyElseTheFreestOfTheFirstRackWithEnough) {
  const std::vector<Node> nodes = {
      {"V100", 4, "a"}, {"V100", 4, "a"}, {"V100", 4, "b"}, {"V100", 4, "b"}};
  Draft draft(nodes, {1, 2, 1, 0});
  EXPECT_EQ(draft.place(Placement::kRack, 2), "n1:2");
  EXPECT_EQ(draft.place(Placement::kRack, 4), "n3:4");
  EXPECT_EQ(draft.place(Placement::kRack, 5), "n0:3 n1:2");
  EXPECT_EQ(draft.place(Placement::kRack, 6), "n2:2 n3:4");
  EXPECT_EQ(draft.place(Placement::kRack, 8), "none");
}

TEST(Placement, SpreadGivesEachGpuToTheNodeThatIsEmptiestThen) {
  Draft draft(kThreeOfFour, {3, 1, 0});
  EXPECT_EQ(draft.place(Placement::kSpread, 1), "n2:1");
  EXPECT_EQ(draft.place(Placement::kSpread, 2), "n1:1 n2:1");
  EXPECT_EQ(draft.place(Placement::kSpread, 4), "n1:2 n2:2");
  EXPECT_EQ(draft.place(Placement::kSpread, 8), "n0:1 n1:3 n2:4");
  EXPECT_EQ(draft.place(Placement::kSpread, 9), "none");
}

constexpr Placement kAllPlacements[] = {
    Placement::kCount,       Placement::kFirstFit, Placement::kBestFit, Placement::kYarn,
    Placement::kConsolidate, Placement::kRack,     Placement::kSpread};

TEST(Placement, AGangThatSpansNodesTakesOneTypeIfItCan) {
  const std::vector<Node> nodes = {{"V100", 2}, {"K80", 2}, {"V100", 2}, {"K80", 2}, {"K80", 2}};
  Draft draft(nodes, {1, 0, 0, 0, 0});
  EXPECT_EQ(draft.place(Placement::kCount, 3), "n0:1 n2:2");
  EXPECT_EQ(draft.place(Placement::kCount, 6), "n1:2 n3:2 n4:2");
  EXPECT_EQ(draft.place(Placement::kBestFit, 6), "n1:2 n3:2 n4:2");
  EXPECT_EQ(draft.place(Placement::kSpread, 3), "n0:1 n2:2");
  EXPECT_EQ(draft.place(Placement::kRack, 6), "n1:2 n3:2 n4:2");
  EXPECT_EQ(draft.place(Placement::kYarn, 4), "n1:2 n3:2");
  for (Placement placement : kAllPlacements) EXPECT_EQ(draft.place(placement, 7), "none");
}

TEST(Placement, MixesTypesWhereItIsAskedToAndNoTypeHasEnough) {
  const std::vector<Node> nodes = {{"V100", 2}, {"K80", 2}, {"V100", 2}, {"K80", 2}, {"K80", 2}};
  Draft draft(nodes, {1, 0, 0, 0, 0});
  EXPECT_EQ(draft.place(Placement::kCount.mixing(), 3), "n0:1 n2:2");
  EXPECT_EQ(draft.place(Placement::kCount.mixing(), 7), "n0:1 n1:2 n2:2 n3:2");
  EXPECT_EQ(draft.place(Placement::kFirstFit.mixing(), 7), "n0:1 n1:2 n2:2 n3:2");
  EXPECT_EQ(draft.place(Placement::kBestFit.mixing(), 7), "n1:2 n2:2 n3:2 n4:1");
  EXPECT_EQ(draft.place(Placement::kSpread.mixing(), 7), "n0:1 n1:2 n2:2 n3:1 n4:1");
  EXPECT_EQ(draft.place(Placement::kCount.mixing(), 10), "none");
  for (Placement strict :
       {Placement::kYarn, Placement::kConsolidate, Placement::kRackFirst, Placement::kRack}) {
    EXPECT_EQ(draft.place(strict.mixing(), 7), "none");
  }
}

TEST(Placement, KnowsTheGangsThatNoTypeOfTheIdleClusterIsLargeEnoughFor) {
  const Cluster cluster = cluster_of({{"V100", 6}, {"K80", 4}, {"K80", 4}});
  const auto has = [&](Placement placement, GangAsked gang) {
    return has_types_for(placement, cluster, gang, kAllTypes);
  };
  EXPECT_TRUE(has(Placement::kCount, {8}));
  EXPECT_FALSE(has(Placement::kCount, {9}));
  EXPECT_TRUE(has(Placement::kCount.mixing(), {14}));
  EXPECT_FALSE(has(Placement::kCount.mixing(), {15}));
  EXPECT_FALSE(has(Placement::kCount, {9, 3})) << "two tasks of 3 on K80, and two on V100";
  EXPECT_TRUE(has(Placement::kCount.mixing(), {12, 3}));
  EXPECT_FALSE(has_types_for(Placement::kCount, cluster, {8}, type_bit(GpuTypeId(0))));
}

TEST(Placement, TakesAllowedTypesOnly) {
  Draft draft({{"V100", 2}, {"K80", 2}, {"P100", 2}}, {});
  const TypeMask k80 = type_bit(GpuTypeId(1));
  const TypeMask p100 = type_bit(GpuTypeId(2));
  EXPECT_EQ(draft.place(Placement::kFirstFit, 2, k80), "n1:2");
  EXPECT_EQ(draft.place(Placement::kCount, 3, k80), "none");
  EXPECT_EQ(draft.place(Placement::kCount.mixing(), 3, k80 | p100), "n1:2 n2:1");
}

TEST(Placement, ASmallerNodeTakesARemainderButIsNoWholeNode) {
  Draft draft({{"V100", 2}, {"V100", 4}, {"V100", 4}}, {});
  EXPECT_EQ(draft.place(Placement::kYarn, 8), "n1:4 n2:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 6), "n0:2 n1:4");
  EXPECT_EQ(draft.place(Placement::kYarn, 10), "n0:2 n1:4 n2:4");
}

// ---- against a search of every node ----

// Returns the gang of a placement on one GPU type, found by looking at every node. Empty: no place.
std::vector<Slice> plain_gang(Placement placement, const Cluster& cluster, const FreeIndex& index,
                              std::uint32_t gpus) {
  std::vector<std::uint32_t> free;
  for (NodeId node : ids<NodeId>(cluster.nodes())) free.push_back(index.on(node));
  if (std::accumulate(free.begin(), free.end(), 0U) < gpus) return {};
  const std::uint32_t size = *std::ranges::max_element(cluster.node_gpus);
  std::vector<std::size_t> order(free.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto freest_first = [&](std::size_t a, std::size_t b) {
    return std::pair(free[b], a) < std::pair(free[a], b);
  };

  if (placement != Placement::kCount && placement != Placement::kSpread) {
    std::vector<std::size_t> fitting;
    for (std::size_t node : order) {
      if (free[node] >= gpus) fitting.push_back(node);
    }
    const bool tight = placement == Placement::kBestFit || placement == Placement::kConsolidate ||
                       placement == Placement::kRack;
    if (tight) {
      std::ranges::stable_sort(fitting, {}, [&](std::size_t node) { return free[node]; });
    }
    if (!fitting.empty()) return {{NodeId(fitting[0]), static_cast<std::uint16_t>(gpus)}};
  }
  std::vector<Slice> gang;
  const auto take = [&](std::size_t node, std::uint32_t count) {
    gang.push_back({NodeId(node), static_cast<std::uint16_t>(count)});
    free[node] -= count;
    gpus -= count;
  };
  if (placement == Placement::kSpread) {
    std::vector<std::uint32_t> left = free;
    for (std::uint32_t taken = 0; taken < gpus; ++taken) --*std::ranges::max_element(left);
    for (std::size_t node : order) {
      if (free[node] > left[node]) take(node, free[node] - left[node]);
    }
  } else if (placement == Placement::kRack) {
    std::ranges::sort(order, freest_first);
    for (NodeRange rack : cluster.rack_nodes) {
      const std::uint32_t in_rack =
          std::accumulate(free.begin() + rack.begin, free.begin() + rack.end, 0U);
      if (in_rack < gpus) continue;
      for (std::size_t node : order) {
        if (node < rack.begin || node >= rack.end || gpus == 0 || free[node] == 0) continue;
        take(node, std::min(gpus, free[node]));
      }
      break;
    }
  } else if (placement == Placement::kYarn || placement == Placement::kConsolidate) {
    if (gpus <= size) return {};
    const std::uint32_t all = gpus;
    for (NodeRange rack : cluster.rack_nodes) {
      const bool anywhere = placement == Placement::kConsolidate;
      const std::size_t begin = anywhere ? 0 : rack.begin;
      const std::size_t end = anywhere ? free.size() : rack.end;
      const std::vector<std::uint32_t> before = free;
      for (std::size_t node = begin; node < end && gpus >= size; ++node) {
        if (free[node] == size) take(node, size);
      }
      std::vector<std::size_t> others(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                      order.begin() + static_cast<std::ptrdiff_t>(end));
      if (anywhere) std::ranges::sort(others, freest_first);
      for (std::size_t node : others) {
        if (gpus > 0 && gpus < size && free[node] >= gpus) take(node, gpus);
      }
      if (gpus == 0) break;
      free = before;
      gang.clear();
      gpus = all;
      if (anywhere) break;
    }
  } else {
    if (placement == Placement::kBestFit) std::ranges::sort(order, freest_first);
    for (std::size_t node : order) {
      if (gpus > 0 && free[node] > 0) take(node, std::min(gpus, free[node]));
    }
  }
  std::ranges::sort(gang, {}, &Slice::node);
  return gang;
}

TEST(Placement, AgreesWithASearchOfEveryNode) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    std::vector<Node> nodes(1 + rng.below(9),
                            {"V100", static_cast<std::uint32_t>(1 + rng.below(8))});
    std::vector<std::uint32_t> taken;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].rack = fmt::format("r{}", i / 3);
      if (rng.below(4) == 0) nodes[i].gpus = static_cast<std::uint32_t>(1 + rng.below(8));
      const bool idle = rng.below(2) == 0;
      taken.push_back(idle ? 0 : static_cast<std::uint32_t>(rng.below(nodes[i].gpus + 1)));
    }
    Draft draft(nodes, taken);
    for (Placement placement :
         {Placement::kCount, Placement::kFirstFit, Placement::kBestFit, Placement::kYarn,
          Placement::kConsolidate, Placement::kRack, Placement::kSpread}) {
      for (std::uint32_t gpus = 1; gpus <= 20; ++gpus) {
        std::string want;
        for (Slice slice : plain_gang(placement, draft.cluster(), draft.free(), gpus)) {
          want += fmt::format("{}n{}:{}", want.empty() ? "" : " ", slice.node.row(), slice.gpus);
        }
        ASSERT_EQ(draft.place(placement, gpus), want.empty() ? "none" : want)
            << "seed " << seed << ", placement " << static_cast<int>(placement.scheme) << ", "
            << gpus << " GPUs";
      }
    }
  }
}

TEST(Placement, TasksAreNeverSplit) {
  // 12, 4 and 8 are free.
  Draft draft({{"V100", 12}, {"V100", 12}, {"V100", 12}}, {0, 8, 4});
  for (Placement placement : {Placement::kCount, Placement::kFirstFit, Placement::kBestFit,
                              Placement::kRack, Placement::kSpread, Placement::kYarn}) {
    EXPECT_EQ(draft.place_tasks(placement, 16, 8), "n0:8 n2:8")
        << static_cast<int>(placement.scheme);
    EXPECT_EQ(draft.place_tasks(placement, 24, 8), "none") << "24 are free, but not 3 times 8";
  }
  EXPECT_EQ(draft.place_tasks(Placement::kConsolidate, 16, 8), "n0:8 n2:8");
  EXPECT_EQ(draft.place_tasks(Placement::kCount, 20, 4), "n0:12 n1:4 n2:4");
  EXPECT_EQ(draft.place_tasks(Placement::kBestFit, 20, 4), "n0:12 n2:8");
  EXPECT_EQ(draft.place_tasks(Placement::kSpread, 20, 4), "n0:12 n1:4 n2:4");
}

TEST(Placement, WhatIsTooLittleForATaskIsLeftOver) {
  Draft draft({{"V100", 3}, {"V100", 3}, {"V100", 3}, {"V100", 3}}, {0, 0, 0, 0});
  for (Placement placement : kAllPlacements) {
    EXPECT_EQ(draft.place_tasks(placement, 8, 2), "n0:2 n1:2 n2:2 n3:2");
    EXPECT_EQ(draft.place_tasks(placement, 10, 2), "none") << "12 are free";
    EXPECT_EQ(draft.place_tasks(placement, 4, 4), "none") << "no node is as large";
  }
}

TEST(Placement, WholeNodesAreFullOfTasks) {
  Draft draft({{"V100", 8}, {"V100", 8}, {"V100", 8}}, {5, 0, 1});
  EXPECT_EQ(draft.place_tasks(Placement::kYarn, 9, 3), "n0:3 n1:6");
  EXPECT_EQ(draft.place_tasks(Placement::kConsolidate, 9, 3), "n1:6 n2:3");
  EXPECT_EQ(draft.place_tasks(Placement::kConsolidate, 15, 3), "n0:3 n1:6 n2:6");
}

TEST(Placement, ATypeWhoseNodesAreTooSmallForATaskIsLeftOut) {
  Draft draft({{"K80", 4}, {"K80", 4}, {"V100", 8}, {"V100", 8}}, {0, 0, 0, 0});
  for (Placement placement : kAllPlacements) {
    EXPECT_EQ(draft.place_tasks(placement, 8, 8), "n2:8");
    EXPECT_EQ(draft.place_tasks(placement, 16, 8), "n2:8 n3:8");
  }
  EXPECT_EQ(draft.place_tasks(Placement::kCount.mixing(), 20, 4), "n0:4 n1:4 n2:8 n3:4");
}

// Whatever is free: whole tasks on every node, and a place wherever the loose placements have room.
TEST(Placement, FindsAPlaceForTasksWhereverNodesHaveRoomForThem) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    std::vector<Node> nodes(1 + rng.below(7));
    std::vector<std::uint32_t> taken;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = {rng.below(3) == 0 ? "K80" : "V100", static_cast<std::uint32_t>(1 + rng.below(8)),
                  fmt::format("r{}", i / 3)};
      taken.push_back(static_cast<std::uint32_t>(rng.below(2) * rng.below(nodes[i].gpus + 1)));
    }
    Draft draft(nodes, taken);
    for (std::uint32_t task = 2; task <= 5; ++task) {
      std::uint32_t room = 0;
      for (NodeId node : ids<NodeId>(nodes.size())) room += draft.free().on(node) / task * task;
      for (std::uint32_t gpus = task; gpus <= 6 * task; gpus += task) {
        for (Placement placement : kAllPlacements) {
          const std::string gang = draft.place_tasks(placement.mixing(), gpus, task);
          const bool is_strict = placement == Placement::kYarn || placement == Placement::kRack ||
                                 placement == Placement::kConsolidate;
          if (gang == "none") {
            ASSERT_TRUE(is_strict || room < gpus) << "seed " << seed << " " << gpus << "/" << task;
          } else {
            ASSERT_GE(room, gpus) << gang;
            ASSERT_TRUE(draft.splits_nothing()) << gang;
          }
        }
      }
    }
  }
}

TEST(Placement, NamesAreThoseOfTheOption) {
  EXPECT_EQ(placement_named("best-fit"), Placement::kBestFit);
  EXPECT_EQ(placement_named("consolidate"), Placement::kConsolidate);
  EXPECT_EQ(placement_named("worst-fit"), std::nullopt);
}

class PlaceBack : public ::testing::Test {
 protected:
  PlaceBack() : cluster_(cluster_of(kThreeOfFour)) {
    for (std::size_t i : {0UL, 1UL}) jobs_.add({.job = JobId(i), .user = UserId(0)}, {});
    for (JobState& state : jobs_.state) state = JobState::kWaiting;
    const std::vector<Slice> last = {{NodeId(0), 2}, {NodeId(2), 4}};
    jobs_.last[kJob] = jobs_.gangs.add(last);
    plan_.emplace(cluster_, jobs_);
  }

  static constexpr JobId kJob = JobId(0);
  Cluster cluster_;
  Jobs jobs_;
  std::optional<Plan> plan_;
};

TEST_F(PlaceBack, GivesTheLastGangIfAllOfItIsFree) {
  ASSERT_TRUE(place_back(jobs_, *plan_, kJob));
  const Gang gang = plan_->gang(kJob);
  EXPECT_TRUE(std::ranges::equal(gang, jobs_.last_gang(kJob)));
  EXPECT_EQ(plan_->free().total(), 6U);
}

TEST_F(PlaceBack, LeavesTheDraftAsItWasIfPartOfTheGangIsTaken) {
  plan_->take(NodeId(2), 1);
  plan_->place(JobId(1));
  EXPECT_FALSE(place_back(jobs_, *plan_, kJob));
  EXPECT_FALSE(plan_->has_gang(kJob));
  EXPECT_EQ(plan_->free().total(), 11U);
}

TEST_F(PlaceBack, HasNothingForAJobThatNeverHadAny) {
  EXPECT_FALSE(place_back(jobs_, *plan_, JobId(1)));
  EXPECT_FALSE(plan_->has_gang(JobId(1)));
}

const std::vector<Node> kTwoRacks = {
    {"V100", 4, "a"}, {"V100", 4, "a"}, {"V100", 4, "b"}, {"V100", 4, "b"}};
constexpr Closeness kInOneRack = {.required = kRackLevel};
constexpr Closeness kRatherInOneRack = {.preferred = kRackLevel};

TEST(Levels, AGangIsWithinWhatItRequiresUnderEveryPlacement) {
  Draft draft(kTwoRacks, {3, 0, 1, 0});
  for (const Placement placement : {Placement::kCount, Placement::kFirstFit, Placement::kBestFit,
                                    Placement::kRack, Placement::kSpread}) {
    const std::string gang = draft.place_near(kInOneRack, placement, 7);
    EXPECT_EQ(gang, "n2:3 n3:4");
    EXPECT_EQ(draft.place_near(kInOneRack, placement, 8), "none");
  }
}

TEST(Levels, ThePlaceIsInTheFullestSectionThatHasOne) {
  Draft draft(kTwoRacks, {3, 0, 1, 0});
  EXPECT_EQ(draft.place_near({}, Placement::kCount, 5), "n0:1 n1:4");
  EXPECT_EQ(draft.place_near(kInOneRack, Placement::kCount, 5), "n0:1 n1:4");
  EXPECT_EQ(draft.place_near(kInOneRack, Placement::kCount, 6), "n2:3 n3:3");
}

TEST(Levels, WhoPrefersALevelGoesElsewhereIfItHasNoPlaceThere) {
  Draft draft(kTwoRacks, {3, 0, 1, 0});
  EXPECT_EQ(draft.place_near({}, Placement::kCount, 6), "n0:1 n1:4 n2:1");
  EXPECT_EQ(draft.place_near(kRatherInOneRack, Placement::kCount, 6), "n2:3 n3:3");
  EXPECT_EQ(draft.place_near(kRatherInOneRack, Placement::kCount, 8), "n0:1 n1:4 n2:3");
}

TEST(Levels, AStrictPlacementStaysStrictWithinTheLevel) {
  Draft draft(kTwoRacks, {0, 0, 1, 0});
  EXPECT_EQ(draft.place_near(kInOneRack, Placement::kConsolidate, 6), "n2:2 n3:4");
  EXPECT_EQ(draft.place_near({.required = kHostLevel}, Placement::kBestFit, 6), "none");
}

TEST(Placement, OtherResourcesLimitTheTasksOfANode) {
  const Cluster cluster = cluster_of({{"V100", 8}, {"V100", 8}, {"V100", 8}});
  TaskLimits limits;  // 6 tasks of a job on each node
  for (NodeId node : ids<NodeId>(3)) limits.set_offer(node, {96});
  for (JobId job : {JobId(0), JobId(1)}) limits.set_needs(job, 1, {{.resource = 0, .amount = 16}});
  for (const Placement placement :
       {Placement::kCount, Placement::kFirstFit, Placement::kBestFit, Placement::kYarn,
        Placement::kConsolidate, Placement::kRack, Placement::kSpread, Placement::kRackFirst}) {
    Jobs jobs;
    for (JobId job : {JobId(0), JobId(1)}) jobs.add({.job = job, .user = UserId(0)}, {});
    for (JobState& state : jobs.state) state = JobState::kWaiting;
    jobs.limits = &limits;
    Plan plan(cluster, jobs);
    ASSERT_TRUE(place(placement, cluster, plan, JobId(0), 8, kAllTypes));
    for (Slice slice : plan.gang(JobId(0))) EXPECT_LE(slice.gpus, 6U);
    ASSERT_TRUE(place(placement, cluster, plan, JobId(1), 8, kAllTypes))
        << "10 of the 18 tasks are left";
    std::uint32_t left = 0;
    for (NodeId node : ids<NodeId>(3)) left += plan.usable(JobId(1), node);
    EXPECT_EQ(left, 2U);
    for (JobId job : {JobId(0), JobId(1)}) plan.stop(job, StopCause::kTurn);
    plan.take(NodeId(0), 7);
    EXPECT_FALSE(plan.place(JobId(1))) << "the node has room for 6 at most";
    EXPECT_EQ(plan.free().total(), 24U);
    EXPECT_TRUE(plan.misuse().what.empty());
  }
}

}  // namespace
}  // namespace fairlead
