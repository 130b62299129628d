#include "fairlead/policy/gandiva_fair/spread_jobs.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// A job of six GPUs on two nodes.
SpreadJob six(JobId job, double tickets = 3) {
  return {{.tickets = tickets, .gpus = 6, .job = job}, {{NodeId(0), 4}, {NodeId(1), 2}}};
}

TEST(SpreadJobs, NeedTheirSliceOfANodeForTheTimeThatTheyAreDue) {
  const SpreadJob job = six(JobId(0));
  EXPECT_EQ(job.need_on(NodeId(1)).gpus, 2U);
  EXPECT_EQ(job.need_on(NodeId(1)).time, 0.5);
  EXPECT_EQ(six(JobId(0), 9).need_on(NodeId(0)).time, 1) << "at most all of it";
}

TEST(SpreadJobs, WaitWhileOneOfThemHasNoGpus) {
  SpreadJobs jobs;
  EXPECT_FALSE(jobs.wait());
  jobs.add(six(JobId(0)));
  jobs.add(six(JobId(1)));
  jobs.count_gpus(true);
  EXPECT_TRUE(jobs.wait());
  jobs.count_gpus(true);
  EXPECT_FALSE(jobs.wait());
  jobs.count_gpus(false);
  jobs.remove(0, false);
  EXPECT_FALSE(jobs.wait()) << "the one without left";
}

TEST(SpreadJobs, TheLastOneTakesTheRowOfOneThatLeaves) {
  SpreadJobs jobs;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(jobs.add(six(JobId(i))), i);
  EXPECT_EQ(jobs.remove(0, true), JobId(2));
  EXPECT_EQ(jobs[0].client.job, JobId(2));
  EXPECT_EQ(jobs.remove(1, true), JobId(1));
  EXPECT_EQ(jobs.size(), 1U);
}

}  // namespace
}  // namespace fairlead
