// Tests the part that preemptive policies share, with worlds of srtf and las.

#include "fairlead/policy/kit/preemption.h"

#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Outcome checked(const World& world, std::string_view policy) {
  const Outcome outcome = run(world, policy);
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
  return outcome;
}

// Job 0 keeps job 1 off the V100 node until 1 s. From 2 s on two shorter jobs are there: one claims
// the idle node, so it is gone, and the other takes job 1's.
TEST(Preemption, AGpuIsClaimedOnce) {
  World world{.cluster = "1xV100:2,1xK80:2"};
  world.jobs = {{.gpus = 2, .work = seconds(1)},
                {.gpus = 2, .work = seconds(100)},
                {.submit = {2'000}, .gpus = 2, .work = seconds(5)},
                {.submit = {2'000}, .gpus = 2, .work = seconds(10)}};
  const Outcome outcome = checked(world, "srtf");
  EXPECT_EQ(outcome.jobs[1].start, Time{0});
  EXPECT_EQ(outcome.jobs[2].start, Time{2'000});
  EXPECT_EQ(outcome.jobs[3].start, Time{2'000});
  EXPECT_EQ(outcome.jobs[1].preemptions, 1);
}

// Job 0 has a V100. The shorter job 1 finds both K80 idle, so it needs no V100.
TEST(Preemption, IdleGpusOfOneTypeAreClaimedBeforeAMix) {
  World world{.cluster = "1xV100:2,1xK80:2"};
  world.jobs = {{.work = seconds(100)}, {.submit = {1'000}, .gpus = 2, .work = seconds(5)}};
  const Outcome outcome = checked(world, "srtf");
  EXPECT_EQ(outcome.jobs[1].start, Time{1'000});
  EXPECT_EQ(outcome.jobs[0].preemptions, 0);
}

// Job 0 has one of three V100. The longer job 1 needs three GPUs: as many are idle from 1 s on, of
// two types.
TEST(Preemption, AMixIsClaimedOnlyWhereItIsAskedFor) {
  World world{.cluster = "1xV100:3,1xK80:1"};
  world.jobs = {{.work = seconds(10)}, {.submit = {1'000}, .gpus = 3, .work = seconds(20)}};
  EXPECT_EQ(checked(world, "srtf:mixed=true").jobs[1].start, Time{1'000});
  EXPECT_EQ(checked(world, "srtf").jobs[1].start, Time{10'000});
}

// One GPU is left of two, so the shortest job takes it from the running one.
TEST(Preemption, GpusOfANodeThatIsDownAreNotGivenOut) {
  World world{.cluster = "2xV100:1"};
  world.settings.faults.outages = {{NodeId(1), Time{500}, Time{50'000}}};
  world.jobs = {
      {.work = seconds(100)}, {.work = seconds(100)}, {.submit = {1'000}, .work = seconds(5)}};
  const Outcome outcome = checked(world, "srtf");
  EXPECT_EQ(outcome.jobs[2].start, Time{1'000});
  EXPECT_EQ(outcome.jobs[2].finish, Time{6'000});
}

// From 1 s on job 1 has a GPU of the first node, and jobs 2 and 3 the GPUs of the second. Job 4
// needs a whole node. By number of GPUs, the GPU of job 3, the last in the order, would be enough.
// It is not, and job 3 keeps its place although the first node has a GPU for it as well.
TEST(Preemption, AVictimWhoseGpusNoJobTookKeepsThem) {
  World world{.cluster = "2xV100:2"};
  world.jobs = {{.work = seconds(1)},
                {.work = seconds(10)},
                {.work = seconds(20)},
                {.work = seconds(100)},
                {.submit = {2'000}, .gpus = 2, .work = seconds(30)}};
  const Outcome outcome = checked(world, "srtf:placement=consolidate");
  EXPECT_EQ(outcome.jobs[4].start, Time{10'000});
  EXPECT_EQ(outcome.jobs[3].preemptions, 0);
  EXPECT_EQ(outcome.jobs[3].finish, Time{100'000});
}

// Both wait while the node is down, and neither has been served.
TEST(PriorityPolicy, OfEqualJobsTheOneThatArrivedFirstGoesFirst) {
  World world{.cluster = "1xV100:1"};
  world.settings.faults.outages = {{NodeId(0), Time{500}, Time{10'000}}};
  world.jobs = {{.submit = {2'000}, .work = seconds(5)}, {.submit = {1'000}, .work = seconds(5)}};
  const Outcome outcome = checked(world, "las");
  EXPECT_EQ(outcome.jobs[1].start, Time{10'000});
  EXPECT_EQ(outcome.jobs[0].start, Time{15'000});
}

}  // namespace
}  // namespace fairlead
