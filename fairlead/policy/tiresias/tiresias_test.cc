#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

// "skewed" has 60 of 100 MB in one tensor and "even" has 10; the tensors of "silent" are unknown.
constexpr std::string_view kModels =
    "models:\n"
    "  - {name: skewed, rates: {V100: 1},"
    " communication: {bytes_mb: 100, largest_tensor_mb: 60, compute_ms: 100}}\n"
    "  - {name: even, rates: {V100: 1},"
    " communication: {bytes_mb: 100, largest_tensor_mb: 10, compute_ms: 100}}\n"
    "  - {name: silent, rates: {V100: 1}, communication: {bytes_mb: 100, compute_ms: 100}}\n";

// One GPU is free on each of two nodes until j0 ends at 100 s; then come the jobs given.
Lines steps_after_fragments(std::string_view policy, const std::vector<TestJob>& later) {
  std::vector<TestJob> jobs = {{.gpus = 3, .work_s = 100}, {.gpus = 3, .work_s = 1000}};
  jobs.insert(jobs.end(), later.begin(), later.end());
  const Happened happened = happens(racks_of_nodes(1, 2, 4), jobs, policy, 10'000, kModels);
  EXPECT_EQ(happened.problems, Lines{});
  return {happened.steps.begin() + 2, happened.steps.end()};
}

TestJob pair_at(std::int64_t submit_s, std::string model) {
  return {.gpus = 2, .submit_s = submit_s, .work_s = 50, .model = std::move(model)};
}

TEST(TiresiasSkew, ASkewedJobWaitsForANodeWhereOthersOfItsSizeAreSpread) {
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew", {pair_at(1, "skewed")}),
            (Lines{"100s j2 n0:2"}));
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew", {pair_at(1, "even")}),
            (Lines{"1s j2 n0:1 n1:1"}));
}

TEST(TiresiasSkew, AModelThatDoesNotSayItsSkewIsNotSkewed) {
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew,skew=0", {pair_at(1, "silent")}),
            (Lines{"1s j2 n0:1 n1:1"}));
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew,skew=0", {pair_at(1, "")}),
            (Lines{"1s j2 n0:1 n1:1"}));
}

TEST(TiresiasSkew, TheThresholdSaysWhoIsSkewed) {
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew,skew=0.7", {pair_at(1, "skewed")}),
            (Lines{"1s j2 n0:1 n1:1"}));
  EXPECT_EQ(steps_after_fragments("tiresias:placement=skew,skew=0.05", {pair_at(1, "even")}),
            (Lines{"100s j2 n0:2"}));
}

TEST(TiresiasSkew, ASkewedJobThatWaitsDoesNotBlockOthersOfItsSize) {
  EXPECT_EQ(
      steps_after_fragments("tiresias:placement=skew", {pair_at(1, "skewed"), pair_at(2, "even")}),
      (Lines{"2s j3 n0:1 n1:1", "100s j2 n0:2"}));
}

TEST(TiresiasSkew, ASkewedGangLargerThanANodeWaitsForWholeNodes) {
  const std::vector<TestJob> jobs = {{.gpus = 1, .work_s = 100},
                                     {.gpus = 8, .submit_s = 1, .model = "skewed"}};
  EXPECT_EQ(
      happens(racks_of_nodes(1, 3, 4), jobs, "tiresias:placement=skew", 10'000, kModels).steps,
      (Lines{"0s j0 n0:1", "1s j1 n1:4 n2:4"}));
}

TEST(TiresiasSkew, ASkewedJobReturnsToItsPlacementAfterAPreemption) {
  // j0 leaves the first queue at 100 s; the newcomers take its node, and it waits for a whole one.
  const std::vector<TestJob> jobs = {{.gpus = 4, .work_s = 200, .model = "skewed"},
                                     {.gpus = 3, .submit_s = 150, .work_s = 10},
                                     {.gpus = 2, .submit_s = 150, .work_s = 30}};
  const Happened happened =
      happens(racks_of_nodes(1, 1, 4), jobs, "tiresias:placement=skew,limits=400", 10'000, kModels);
  EXPECT_EQ(happened.steps,
            (Lines{"0s j0 n0:4", "150s j0 stop", "150s j1 n0:3", "160s j2 n0:2", "190s j0 n0:4"}));
}

}  // namespace
}  // namespace fairlead
