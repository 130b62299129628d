#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

// On one GPU, rho is (age + work left) / (work x mean number of jobs). At 7 s j1 has 106 / (100 x
// 3.3), j2 and j3 have 8 / (4 x 4); at 11 s j1 has 110 / (100 x 3.2), j3 has 12 / (4 x 3.5).
TEST(Themis, TheJobWithTheLargestRhoGoesFirstAndTiesGoToTheLowerId) {
  const Happened happened = happens(racks_of_nodes(1, 1, 1),
                                    {{.work_s = 7},
                                     {.submit_s = 1, .work_s = 100},
                                     {.submit_s = 3, .work_s = 4},
                                     {.submit_s = 3, .work_s = 4}},
                                    "themis");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:1", "7s j2 n0:1", "11s j3 n0:1", "15s j1 n0:1"}));
  EXPECT_EQ(happened.problems, Lines{});
}

// At 10 s, with 4 GPUs for some 3 jobs, j1 alone on its share would take 2.9 times its work. j2
// would not be faster alone: rho is 19 / 29 and 18 / 10.
TEST(Themis, AloneAJobUsesNoMoreOfItsShareThanItsGang) {
  const Happened happened = happens(racks_of_nodes(1, 1, 4),
                                    {{.gpus = 4, .work_s = 10},
                                     {.gpus = 4, .submit_s = 1, .work_s = 10},
                                     {.gpus = 1, .submit_s = 2, .work_s = 10}},
                                    "themis");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:4", "10s j2 n0:1", "20s j1 n0:4"}));
}

TEST(Themis, NoJobIsStoppedBeforeItsLeaseEnds) {
  const std::vector<TestJob> jobs = {{.work_s = 100}, {.submit_s = 1, .work_s = 5}};
  const Cluster cluster = racks_of_nodes(1, 1, 1);
  EXPECT_EQ(happens(cluster, jobs, "themis:lease_s=10").steps,
            (Lines{"0s j0 n0:1", "10s j0 stop", "10s j1 n0:1", "15s j0 n0:1"}));
  EXPECT_EQ(happens(cluster, jobs, "themis:lease_s=60").steps,
            (Lines{"0s j0 n0:1", "60s j0 stop", "60s j1 n0:1", "65s j0 n0:1"}));
}

// At 10 s all have waited or run for 10 s: rho is 30 / 40 of j2 and j3, and 100 / 200 of j0 and j1.
TEST(Themis, OnlyTheWorstOffTakeTheGpusOfOthers) {
  const std::vector<TestJob> jobs = {
      {.work_s = 100}, {.work_s = 100}, {.work_s = 20}, {.work_s = 20}};
  const Cluster cluster = racks_of_nodes(1, 1, 2);
  const auto at_10_s = [&](std::string_view policy) {
    const Happened happened = happens(cluster, jobs, policy, 10);
    return Lines(happened.steps.begin() + 2, happened.steps.end());
  };
  EXPECT_EQ(at_10_s("themis:lease_s=10"), (Lines{"10s j1 stop", "10s j2 n0:1"}));
  EXPECT_EQ(at_10_s("themis:lease_s=10,f=1"), (Lines{"10s j1 stop", "10s j2 n0:1"}));
  EXPECT_EQ(at_10_s("themis:lease_s=10,f=0.5"),
            (Lines{"10s j1 stop", "10s j0 stop", "10s j2 n0:1", "10s j3 n0:1"}));
}

// j3 needs a whole node. The lease of j0, whose rho is the smallest, does not help; that of j2 does.
TEST(Themis, ALeaseTakenBackInVainIsGivenAgain) {
  const Happened happened = happens(racks_of_nodes(1, 2, 4),
                                    {{.gpus = 3},
                                     {.gpus = 1, .submit_s = 1},
                                     {.gpus = 2, .submit_s = 2},
                                     {.gpus = 4, .submit_s = 3, .work_s = 1}},
                                    "themis:lease_s=10,placement=consolidate");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:3", "1s j1 n0:1", "2s j2 n1:2", "10s j2 stop",
                                   "10s j3 n1:4", "11s j2 n1:2"}));
  EXPECT_EQ(happened.problems, Lines{});
}

}  // namespace
}  // namespace fairlead
