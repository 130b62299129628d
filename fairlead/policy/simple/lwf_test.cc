#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

TEST(Lwf, TheJobWithTheLeastGpuTimeGoesFirst) {
  // 80, 60 and 40 GPU-seconds.
  const Happened happened = happens(
      racks_of_nodes(1, 1, 4),
      {{.gpus = 4, .work_s = 20}, {.gpus = 3, .work_s = 20}, {.gpus = 4, .work_s = 10}}, "lwf");
  EXPECT_EQ(happened.steps, (Lines{"0s j2 n0:4", "10s j1 n0:3", "30s j0 n0:4"}));
  EXPECT_EQ(happened.problems, Lines{});
}

// Nodes of four. At 0 s j1 (80 GPU-seconds) and then j0 (200) take the least loaded nodes. At 10 s
// a GPU of n0 has 30 s x 2 / 4 = 15 s of work left, a GPU of n1 has 90 x 2 / 4 = 45, and one of n2
// none. So j2 fills n2. j3 then goes to n0 and, for the rest of it, to n1.
TEST(Lwf, ALargeGangFillsTheLeastLoadedNodesOneAfterAnother) {
  const Happened happened = happens(racks_of_nodes(1, 3, 4),
                                    {{.gpus = 2, .work_s = 100},
                                     {.gpus = 2, .work_s = 40},
                                     {.gpus = 4, .submit_s = 10, .work_s = 10},
                                     {.gpus = 3, .submit_s = 10, .work_s = 50}},
                                    "lwf");
  EXPECT_EQ(happened.steps, (Lines{"0s j1 n0:2", "0s j0 n1:2", "10s j2 n2:4", "10s j3 n0:2 n1:1"}));
}

TEST(Lwf, AGangUpToKappaTakesTheFirstFreeGpusWhereverTheyAre) {
  // n0 has one free GPU and the longest work left; n1 is idle.
  const std::vector<TestJob> jobs = {{.gpus = 3, .work_s = 1000},
                                     {.gpus = 2, .submit_s = 1, .work_s = 10}};
  const Cluster cluster = racks_of_nodes(1, 2, 4);
  EXPECT_EQ(happens(cluster, jobs, "lwf:kappa=2").steps.back(), "1s j1 n0:1 n1:1");
  EXPECT_EQ(happens(cluster, jobs, "lwf:kappa=1").steps.back(), "1s j1 n1:2");
}

TEST(Lwf, AJobThatFindsNoRoomDelaysThoseBehindItUnlessTheyMaySkipIt) {
  const std::vector<TestJob> jobs = {{.gpus = 3, .work_s = 100},
                                     {.gpus = 4, .submit_s = 1, .work_s = 10},
                                     {.gpus = 1, .submit_s = 2, .work_s = 50}};
  const Cluster cluster = racks_of_nodes(1, 1, 4);
  EXPECT_EQ(happens(cluster, jobs, "lwf").steps,
            (Lines{"0s j0 n0:3", "100s j1 n0:4", "110s j2 n0:1"}));
  EXPECT_EQ(happens(cluster, jobs, "lwf:skip=true").steps,
            (Lines{"0s j0 n0:3", "2s j2 n0:1", "100s j1 n0:4"}));
}

}  // namespace
}  // namespace fairlead
