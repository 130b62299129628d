#include "fairlead/policy/gavel/objectives.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Table = std::vector<double>;

// Single-GPU jobs of equal weight.
GavelJobs jobs_of(std::vector<double> gpus, Table throughputs) {
  GavelJobs jobs;
  const std::size_t rows = throughputs.size() / gpus.size();
  jobs.gpus = std::move(gpus);
  jobs.gangs.assign(rows, 1);
  jobs.weights.assign(rows, 1);
  jobs.shares.assign(throughputs.size(), 0);
  jobs.throughputs = std::move(throughputs);
  return jobs;
}

constexpr GavelRule rule(GavelObjective objective) {
  return {.objective = objective, .aware = true, .water_filling = false};
}
constexpr GavelRule kMaxMin = rule(GavelObjective::kMaxMin);

Table shares_of(const GavelRule& rule, const GavelJobs& jobs) {
  Rng rng(1);
  return gavel_shares(rule, jobs, rng);
}

void expect_near(const Table& have, const Table& want) {
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6) << "cell " << i;
}

// Both could run on either GPU; the second loses nothing on the slow one.
TEST(GavelObjectives, MaxMinPutsEachJobWhereItIsComparativelyFast) {
  const GavelJobs jobs = jobs_of({1, 1}, {4, 1, 1, 1});
  expect_near(shares_of(kMaxMin, jobs), {1, 0, 0, 1});
  // Without regard to speeds all GPUs are alike, and every job has one.
  const Table agnostic = shares_of(
      {.objective = GavelObjective::kMaxMin, .aware = false, .water_filling = false}, jobs);
  EXPECT_NEAR(agnostic[0] + agnostic[1], 1, 1e-6);
  EXPECT_NEAR(agnostic[2] + agnostic[3], 1, 1e-6);
}

// The first job cannot have more than all of its time on its only type, and the second must then
// have exactly the rest.
TEST(GavelObjectives, NoJobHasMoreThanItMustWhereTiesAreNotBroken) {
  GavelJobs jobs = jobs_of({1, 1}, {1, 0, 0, 1});
  jobs.weights = {2, 1};
  GavelRule untied = kMaxMin;
  expect_near(shares_of(untied, jobs), {1, 0, 0, 1});
  untied.ties = Ties::kNone;
  expect_near(shares_of(untied, jobs), {1, 0, 0, 0.5});
}

TEST(GavelObjectives, WeightsAndGangsScaleTheShares) {
  GavelJobs jobs = jobs_of({2}, {1, 1, 1, 1, 1});
  jobs.weights = {2, 1, 1, 1, 1};
  expect_near(shares_of(kMaxMin, jobs), {2. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3});
  jobs.weights.assign(5, 1);
  jobs.gangs = {2, 1, 1, 1, 1};
  // Equal GPU time: two fifths of a GPU each, which the gang of two has in a fifth of the time.
  expect_near(shares_of(kMaxMin, jobs), {0.2, 0.4, 0.4, 0.4, 0.4});
}

// Two jobs run on the slow type only, the third on both. It alone can use the rest of the fast GPU,
// and only water filling gives it all of that.
TEST(GavelObjectives, WaterFillingRaisesThoseWhoCouldHaveMore) {
  const GavelJobs jobs = jobs_of({1, 1}, {0, 1, 0, 1, 1, 1});
  expect_near(
      shares_of({.objective = GavelObjective::kMaxMin, .aware = true, .water_filling = true}, jobs),
      {0, 0.5, 0, 0.5, 1, 0});
}

TEST(GavelObjectives, MakespanGivesTimeByWhatIsLeft) {
  GavelJobs jobs = jobs_of({1}, {1, 1});
  jobs.remaining_s = {300, 100};
  expect_near(shares_of(rule(GavelObjective::kMakespan), jobs), {0.75, 0.25});
}

// Both have half a GPU in isolation; the first has waited 100 s for nothing, so it is behind.
TEST(GavelObjectives, FinishTimeFairnessHelpsWhoIsBehind) {
  GavelJobs jobs = jobs_of({1}, {1, 1});
  jobs.remaining_s = {100, 100};
  jobs.age_s = {100, 0};
  jobs.isolated_s = {0, 0};
  const Table shares = shares_of(rule(GavelObjective::kFtf), jobs);
  // 100 + 100 / x = 100 / (1 - x)
  EXPECT_NEAR(100 + 100 / shares[0], 100 / shares[1], 1e-3);
  EXPECT_NEAR(shares[0] + shares[1], 1, 1e-6);
}

TEST(GavelObjectives, MaxThroughputServesWhoIsFastestRelativeToItself) {
  const GavelJobs jobs = jobs_of({1, 1}, {9, 1, 3, 2});
  expect_near(shares_of(rule(GavelObjective::kMaxThroughput), jobs), {1, 0, 0, 1});
}

TEST(GavelObjectives, FifoGivesTheFastestTypeWithRoomAndNoJobOvertakes) {
  GavelJobs jobs = jobs_of({1, 2}, {2, 1, 2, 1, 2, 1, 2, 1});
  jobs.gangs = {1, 1, 2, 1};
  expect_near(shares_of(rule(GavelObjective::kFifo), jobs), {1, 0, 0, 1, 0, 0, 0, 0});
}

TEST(GavelObjectives, FifoThatKnowsNoSpeedsMovesNoJob) {
  GavelJobs jobs = jobs_of({1, 1}, {2, 1, 2, 1});
  jobs.shares = {0, 1, 0, 0};
  expect_near(
      shares_of({.objective = GavelObjective::kFifo, .aware = false, .water_filling = false}, jobs),
      {0, 1, 1, 0});
}

TEST(GavelObjectives, IsolatedIsAnEqualPartOfEveryTypeUpToAllOfOnesTime) {
  GavelJobs jobs = jobs_of({1, 3}, {1, 1, 1, 1});
  expect_near(shares_of(rule(GavelObjective::kIsolated), jobs), {0.25, 0.75, 0.25, 0.75});
  jobs.gangs = {1, 4};
  expect_near(shares_of(rule(GavelObjective::kIsolated), jobs), {0.25, 0.75, 0.125, 0.375});
}

TEST(GavelObjectives, AJobThatCanRunNowhereIsDueNothingAndDelaysNoOther) {
  GavelJobs jobs = jobs_of({1}, {0, 1});
  jobs.remaining_s = {100, 100};
  jobs.age_s = jobs.isolated_s = {0, 0};
  for (GavelObjective objective :
       {GavelObjective::kMaxMin, GavelObjective::kFtf, GavelObjective::kMakespan,
        GavelObjective::kMaxThroughput, GavelObjective::kFifo}) {
    expect_near(shares_of(rule(objective), jobs), {0, 1});
  }
}

}  // namespace
}  // namespace fairlead
