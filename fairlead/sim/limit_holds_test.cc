#include "fairlead/sim/limit_holds.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Jobs of these GPUs, all with the limits `of`.
LimitedJobs jobs_of(std::vector<JobLimit> limits, std::vector<std::vector<std::size_t>> of) {
  LimitedJobs jobs{.limits = std::move(limits), .of_job = {}};
  for (auto& one : of) jobs.of_job.push_back(std::move(one));
  return jobs;
}

IdVector<JobId, std::uint32_t> gpus(std::initializer_list<std::uint32_t> each) {
  IdVector<JobId, std::uint32_t> column;
  for (const std::uint32_t one : each) column.push_back(one);
  return column;
}

using Released = std::vector<JobId>;

TEST(LimitHolds, ReleasesInTheOrderOfArrivalsWhatFits) {
  LimitHolds holds(jobs_of({{"u", 4, 0}}, {{0}, {0}, {0}, {0}}), gpus({4, 3, 2, 1}));
  EXPECT_TRUE(holds.arrive(JobId(0)));
  EXPECT_FALSE(holds.arrive(JobId(2)));
  EXPECT_FALSE(holds.arrive(JobId(1)));
  EXPECT_FALSE(holds.arrive(JobId(3)));
  EXPECT_EQ(holds.end(JobId(0)), (Released{JobId(2), JobId(3)}));
  EXPECT_EQ(holds.end(JobId(3)), Released());
  EXPECT_EQ(holds.end(JobId(2)), (Released{JobId(1)}));
}

TEST(LimitHolds, AJobWaitsForTheLastOfItsLimits) {
  LimitHolds holds(jobs_of({{"u", 2, 0}, {"q", 0, 1}}, {{0}, {1}, {0, 1}, {}}), gpus({1, 1, 2, 9}));
  EXPECT_TRUE(holds.arrive(JobId(0)));
  EXPECT_TRUE(holds.arrive(JobId(1)));
  EXPECT_FALSE(holds.arrive(JobId(2)));
  EXPECT_TRUE(holds.arrive(JobId(3)));
  EXPECT_EQ(holds.end(JobId(0)), Released());
  EXPECT_EQ(holds.end(JobId(1)), (Released{JobId(2)}));
  EXPECT_EQ(holds.end(JobId(3)), Released());
}

}  // namespace
}  // namespace fairlead
