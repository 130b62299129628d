#include "testing/steps.h"
#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

// Two jobs that each have half of the GPUs that both need wait for ever; as gangs they run. At 1 ms
// the second binds two pods to the two free GPUs. At 10 s the third, of a higher priority, gets the
// two GPUs of the first.
TEST(Kube, JobsWhosePodsAreBoundOneByOneMayWaitForEachOtherForEver) {
  World world{.cluster = "1xV100:4"};
  world.jobs = {{.gpus = 2, .work = seconds(10)},
                {.submit = {1}, .gpus = 3},
                {.submit = {9'000}, .gpus = 3, .priority = 1}};
  EXPECT_EQ(run(world, "kube").counts.finished, 3);
  const Outcome stuck = run(world, "kube:gang=false");
  EXPECT_EQ(stuck.counts.finished, 1);
  EXPECT_EQ(stuck.counts.pending, 2);
}

// Half full is best here: two GPUs of each node, whichever comes first.
TEST(Kube, RequestedToCapacityRatioFollowsItsShape) {
  const Cluster cluster = racks_of_nodes(1, 2, 4);
  const std::vector<TestJob> jobs(4, {.gpus = 1});
  EXPECT_EQ(
      happens(cluster, jobs, "kube:scoring_strategy=RequestedToCapacityRatio,shape=0/8/50/10/100/0")
          .steps,
      (Lines{"0s j0 n0:1", "0s j1 n0:1", "0s j2 n1:1", "0s j3 n1:1"}));
  EXPECT_EQ(happens(cluster, jobs, "kube:scoring_strategy=RequestedToCapacityRatio").steps,
            (Lines{"0s j0 n0:1", "0s j1 n0:1", "0s j2 n0:1", "0s j3 n0:1"}));
}

TEST(Kube, AShapeThatIsNoneIsAnError) {
  for (const std::string_view shape :
       {"0/0/100", "50/0/50/10", "60/0/50/10", "0/0/100/11", "0/0", "0/5/100/5", "0/0/50.5/10"}) {
    const auto choice = parse_policy(fmt::format("kube:shape={}", shape), 0);
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->make().error().message,
              fmt::format("policy kube: shape must be utilizations that rise, each with a score "
                          "from 0 to 10, all whole numbers and scores that differ: {}",
                          shape));
  }
}

}  // namespace
}  // namespace fairlead
