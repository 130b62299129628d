#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

// Eight GPUs in two racks of two nodes; with two users each is due four of them.
Cluster two_racks() { return racks_of_nodes(2, 2, 2); }

TEST(Philly, AJobWithinItsQuotaGoesAheadOfAnEarlierOneBeyondIt) {
  const Happened happened = happens(two_racks(),
                                    {{.gpus = 4, .work_s = 100},
                                     {.gpus = 4, .work_s = 50, .user = "bob"},
                                     {.gpus = 4, .submit_s = 1},
                                     {.gpus = 4, .submit_s = 2, .user = "bob"}},
                                    "philly");
  EXPECT_EQ(happened.steps,
            (Lines{"0s j0 n0:2 n1:2", "0s j1 n2:2 n3:2", "50s j3 n2:2 n3:2", "100s j2 n0:2 n1:2"}));
  EXPECT_EQ(happened.problems, Lines{});
}

TEST(Philly, IdleGpusAreBonusForWhoeverWaits) {
  const Happened happened = happens(two_racks(),
                                    {{.gpus = 1, .work_s = 5, .user = "bob"},
                                     {.gpus = 4, .submit_s = 1},
                                     {.gpus = 2, .submit_s = 10}},
                                    "philly");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:1", "1s j1 n1:2 n2:2", "10s j2 n0:2"}));
}

// ann has all eight GPUs, four of them as bonus: j3 and j4 came last.
std::vector<TestJob> bonus_runs(const std::vector<TestJob>& later) {
  std::vector<TestJob> jobs = {{.gpus = 1, .work_s = 1, .user = "bob"},
                               {.gpus = 2, .submit_s = 1},
                               {.gpus = 2, .submit_s = 2},
                               {.gpus = 2, .submit_s = 3},
                               {.gpus = 2, .submit_s = 4}};
  jobs.insert(jobs.end(), later.begin(), later.end());
  return jobs;
}

TEST(Philly, BonusIsTakenBackFromTheYoungestFirst) {
  const Happened happened = happens(two_racks(),
                                    bonus_runs({{.gpus = 2, .submit_s = 10, .user = "bob"},
                                                {.gpus = 2, .submit_s = 20, .user = "bob"},
                                                {.gpus = 2, .submit_s = 30, .user = "bob"}}),
                                    "philly", 100);
  EXPECT_EQ(happened.steps,
            (Lines{"0s j0 n0:1", "1s j1 n0:2", "2s j2 n1:2", "3s j3 n2:2", "4s j4 n3:2",
                   "10s j4 stop", "10s j5 n3:2", "20s j3 stop", "20s j6 n2:2"}));
}

TEST(Philly, BonusThatIsNotInTheWayIsKept) {
  // bob insists on the one node of four, so the younger jobs on the other nodes are left alone.
  const Happened happened = happens(load_cluster("1xV100:4,2xV100:2").value(),
                                    {{.gpus = 1, .work_s = 1, .user = "bob"},
                                     {.gpus = 4, .submit_s = 1},
                                     {.gpus = 2, .submit_s = 2},
                                     {.gpus = 2, .submit_s = 3},
                                     {.gpus = 3, .submit_s = 10, .user = "bob"}},
                                    "philly:preempt_above=0.5", 100);
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n1:1", "1s j1 n0:4", "2s j2 n1:2", "3s j3 n2:2"}));
}

TEST(Philly, NothingIsTakenBackWhileTheClusterIsNotNearlyFull) {
  // Seven of eight GPUs are in use: 87.5 %. bob's pair finds no node with two free GPUs.
  const std::vector<TestJob> jobs = {{.gpus = 1, .work_s = 1, .user = "bob"},
                                     {.gpus = 2, .submit_s = 1},
                                     {.gpus = 2, .submit_s = 2},
                                     {.gpus = 2, .submit_s = 3},
                                     {.gpus = 1, .submit_s = 4},
                                     {.gpus = 2, .submit_s = 10, .user = "bob"}};
  EXPECT_EQ(happens(two_racks(), jobs, "philly", 100).steps.size(), 5U);
  const Lines steps = happens(two_racks(), jobs, "philly:preempt_above=0.8", 100).steps;
  EXPECT_EQ(Lines(steps.begin() + 5, steps.end()), (Lines{
                                                       "10s j4 stop",
                                                       "10s j5 n3:2",
                                                   }));
}

// One GPU is free on each node of `racks` racks.
std::vector<TestJob> fragments(std::uint32_t nodes, const TestJob& last) {
  std::vector<TestJob> jobs(nodes, TestJob{.gpus = 2});
  jobs.push_back(last);
  return jobs;
}

TEST(Philly, AGangInsistsOnANodeThenOnARackThenTakesAnyGpus) {
  const TestJob pair{.gpus = 2, .submit_s = 10};
  EXPECT_EQ(happens(racks_of_nodes(1, 2, 3), fragments(2, pair), "philly:relax_s=100").steps.back(),
            "110s j2 n0:1 n1:1");
  EXPECT_EQ(happens(racks_of_nodes(2, 1, 3), fragments(2, pair), "philly:relax_s=100").steps.back(),
            "210s j2 n0:1 n1:1");
  EXPECT_EQ(happens(racks_of_nodes(2, 1, 3), fragments(2, pair), "philly:relax_s=0").steps.back(),
            "10s j2 n0:1 n1:1");
}

TEST(Philly, ThePatienceOfAGangBeginsAnewWhenItIsStopped) {
  // j4 is stopped for bob at 10 s; when j1 ends at 60 s, a GPU is free on two nodes of one rack.
  std::vector<TestJob> jobs = {{.gpus = 1, .work_s = 1, .user = "bob"},
                               {.gpus = 1, .submit_s = 1, .work_s = 49},
                               {.gpus = 1, .submit_s = 1},
                               {.gpus = 1, .submit_s = 1, .work_s = 49},
                               {.gpus = 1, .submit_s = 1},
                               {.gpus = 2, .submit_s = 5, .work_s = 400},
                               {.gpus = 2, .submit_s = 6, .work_s = 400},
                               {.gpus = 2, .submit_s = 10, .user = "bob"}};
  const Happened happened = happens(two_racks(), jobs, "philly:relax_s=100", 300);
  const Lines last(happened.steps.end() - 3, happened.steps.end());
  EXPECT_EQ(last[0], "10s j6 stop");
  EXPECT_EQ(last[1], "10s j7 n3:2");
  EXPECT_EQ(last[2], "110s j6 n0:1 n1:1");
}

}  // namespace
}  // namespace fairlead
