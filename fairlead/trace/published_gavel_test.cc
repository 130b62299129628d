#include "fairlead/trace/published_gavel.h"

#include "fairlead/trace/testing.h"
#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace fairlead {
namespace {

using testing::jobs_of;

const std::vector<GangShare> kSingle = {{1, 1}};
const std::vector<GangShare> kMultiple = {{1, 70}, {2, 10}, {4, 15}, {8, 5}};

Workload drawn(const PublishedGavel& published) {
  auto workload = generate_published_gavel(published);
  EXPECT_TRUE(workload.has_value()) << workload.error().message;
  return *std::move(workload);
}

// From the simulator's own code: random.Random(2) for jobs and random.Random(3) for arrivals.
TEST(PublishedGavel, DrawsTheJobsOfTheSimulatorsSeed) {
  EXPECT_EQ(jobs_of(drawn({{.seed = 0, .jobs = 3, .jobs_per_hour = 1, .gangs = kMultiple}})),
            (testing::Lines{"job-1 default ResNet-18 (batch size 64) 8 0 68344350 V100",
                            "job-2 default Transformer (batch size 16) 1 978344 31016609 V100",
                            "job-3 default Recommendation (batch size 1024) 1 3807099 2146609 "
                            "V100"}));
}

TEST(PublishedGavel, HasTheSameJobsAtAnotherRateAndOfOneGpu) {
  EXPECT_EQ(jobs_of(drawn({{.seed = 0, .jobs = 3, .jobs_per_hour = 2, .gangs = kSingle}})),
            (testing::Lines{"job-1 default ResNet-18 (batch size 64) 1 0 68344350 V100",
                            "job-2 default Transformer (batch size 16) 1 489172 31016609 V100",
                            "job-3 default Recommendation (batch size 1024) 1 1903550 2146609 "
                            "V100"}));
}

TEST(PublishedGavel, GivesOneJobOfFiveHighPriority) {
  const Workload workload =
      drawn({.stream = {.seed = 0, .jobs = 5000, .jobs_per_hour = 1, .gangs = kMultiple},
             .priorities = true});
  std::int64_t high = 0;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const UserId user = workload.jobs.user[job];
    const bool is_high = workload.users.names[user] == "high";
    EXPECT_EQ(workload.users.tickets[user], is_high ? kHighPriority : 1);
    high += is_high;
  }
  EXPECT_NEAR(static_cast<double>(high), 1000, 100);
}

TEST(PublishedGavel, RefusesASeedThatTheSimulatorCannotHave) {
  const auto workload = generate_published_gavel({{.seed = 0xffff'ffff}});
  ASSERT_FALSE(workload.has_value());
  EXPECT_EQ(workload.error().message,
            "a seed of Gavel's simulator is at most 4294967292: 4294967295");
}

// Compares job by job, if the public files are present.
TEST(PublishedGavel, IsTheTracesOfThePublishedCurves) {
  const char* shared = std::getenv("FAIRLEAD_SHARED");
  const std::filesystem::path folder =
      std::filesystem::path(shared == nullptr ? "../shared" : shared) /
      "data/traces/gavel_published";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "not here: " << folder.string();
  const auto expect_same = [&](const std::string& file, double rate,
                               const std::vector<GangShare>& gangs) {
    const auto read = read_trace((folder / file).string(), {});
    ASSERT_TRUE(read.has_value()) << read.error().message;
    const Workload ours = drawn({{.seed = 0, .jobs = 6500, .jobs_per_hour = rate, .gangs = gangs}});
    ASSERT_EQ(ours.jobs.size(), read->jobs.size());
    for (const JobId job : ids<JobId>(ours.jobs.size())) {
      ASSERT_EQ(ours.models[ours.jobs.model[job]], read->models[read->jobs.model[job]]);
      ASSERT_EQ(ours.jobs.gpus[job], read->jobs.gpus[job]);
      ASSERT_NEAR(to_seconds(ours.durations[job]), to_seconds(read->durations[job]), 0.0015);
      ASSERT_NEAR(to_seconds(ours.jobs.arrival[job] - read->jobs.arrival[job]), 0, 0.0015);
    }
  };
  expect_same("single_2.0.tsv.gz", 2.0, kSingle);
  expect_same("single_5.6.tsv.gz", 5.6, kSingle);
  expect_same("multi_1.0.tsv.gz", 1.0, kMultiple);
  expect_same("multi_2.6.tsv.gz", 2.6, kMultiple);
}

}  // namespace
}  // namespace fairlead
