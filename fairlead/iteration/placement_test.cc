#include "fairlead/iteration/placement.h"

#include <gtest/gtest.h>

#include <set>

namespace fairlead {
namespace {

// Three nodes of two GPUs; workloads and free memory by GPU.
IdVector<GpuId, GpuLoad> loads(const std::vector<std::int64_t>& workloads,
                               const std::vector<std::int64_t>& memory) {
  IdVector<GpuId, GpuLoad> all;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    all.push_back({NodeId(i / 2), memory[i], workloads[i]});
  }
  return all;
}

std::vector<std::uint32_t> chosen(const std::string& rule, const IdVector<GpuId, GpuLoad>& loads,
                                  std::size_t count, std::int64_t memory_mb,
                                  std::uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<std::uint32_t> rows;
  for (GpuId gpu : choose_gpus(*parse_gpu_rule(rule), loads, count, memory_mb, rng)) {
    rows.push_back(gpu.row());
  }
  return rows;
}

using Rows = std::vector<std::uint32_t>;

const auto kLoads = loads({5, 1, 4, 3, 0, 9}, {8, 8, 8, 8, 8, 8});

TEST(GpuRule, FirstFitTakesTheFirstWithRoom) {
  EXPECT_EQ(chosen("first-fit", kLoads, 2, 8), (Rows{0, 1}));
  EXPECT_EQ(chosen("first-fit", loads({0, 0, 0, 0}, {4, 8, 3, 8}), 2, 5), (Rows{1, 3}));
}

TEST(GpuRule, ListSchedulingTakesTheLeastLoaded) {
  EXPECT_EQ(chosen("least-loaded", kLoads, 3, 8), (Rows{4, 1, 3}));
  EXPECT_EQ(chosen("least-loaded", loads({2, 2, 1, 2}, {8, 8, 0, 8}), 2, 8), (Rows{0, 1}));
}

// Node means are 3, 3.5 and 4.5.
TEST(GpuRule, LwfTakesLargeJobsNodeByNode) {
  EXPECT_EQ(chosen("lwf-2", kLoads, 2, 8), (Rows{4, 1}));
  EXPECT_EQ(chosen("lwf-1", kLoads, 2, 8), (Rows{0, 1}));
  EXPECT_EQ(chosen("lwf-2", kLoads, 5, 8), (Rows{0, 1, 2, 3, 4}));
  EXPECT_EQ(chosen("lwf-1", loads({5, 1, 4, 3, 0, 5}, {8, 8, 8, 8, 8, 8}), 3, 8), (Rows{4, 5, 0}));
}

TEST(GpuRule, LwfMeansIncludeGpusWithoutRoom) {
  EXPECT_EQ(chosen("lwf-1", loads({9, 0, 3, 3}, {0, 8, 8, 8}), 2, 8), (Rows{2, 3}));
}

TEST(GpuRule, NothingIsChosenWhereMemoryIsShort) {
  const auto tight = loads({0, 0, 0, 0}, {8, 7, 8, 7});
  for (const char* rule : {"random", "first-fit", "least-loaded", "lwf-1"}) {
    EXPECT_EQ(chosen(rule, tight, 3, 8), Rows{});
    EXPECT_EQ(chosen(rule, tight, 2, 8).size(), 2u);
  }
}

TEST(GpuRule, RandomReachesEveryGpuAndNoneTwice) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Rows rows = chosen("random", kLoads, 3, 8, seed);
    EXPECT_EQ(std::set<std::uint32_t>(rows.begin(), rows.end()).size(), 3u);
    seen.insert(rows.begin(), rows.end());
    EXPECT_EQ(rows, chosen("random", kLoads, 3, 8, seed));
  }
  EXPECT_EQ(seen.size(), kLoads.size());
}

TEST(GpuRule, AnUnknownNameIsAnError) {
  for (const char* name : {"lwf", "lwf-", "lwf-x", "lwf--1", "best-fit", ""}) {
    const auto rule = parse_gpu_rule(name);
    ASSERT_FALSE(rule.has_value()) << name;
    EXPECT_EQ(rule.error().message,
              "no such placement (there are: random, first-fit, least-loaded, lwf-KAPPA): " +
                  std::string(name));
  }
}

}  // namespace
}  // namespace fairlead
