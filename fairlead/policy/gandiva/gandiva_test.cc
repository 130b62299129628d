#include "testing/steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

TEST(Gandiva, AGangGoesToANodeWhereItsSizeLivesAndElseToAnEmptyOne) {
  const Happened happened = happens(racks_of_nodes(1, 3, 4),
                                    {{.gpus = 1},
                                     {.gpus = 2, .submit_s = 1},
                                     {.gpus = 1, .submit_s = 2},
                                     {.gpus = 2, .submit_s = 3},
                                     {.gpus = 4, .submit_s = 4},
                                     {.gpus = 1, .submit_s = 5}},
                                    "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:1", "1s j1 n1:2", "2s j2 n0:1", "3s j3 n1:2",
                                   "4s j4 n2:4", "5s j5 n0:1"}));
  EXPECT_EQ(happened.problems, Lines{});
}

TEST(Gandiva, OfTheNodesOfItsSizeAGangTakesTheLeastLoaded) {
  std::vector<TestJob> jobs(5, TestJob{.gpus = 1});
  jobs[0].work_s = 10;
  jobs.push_back({.gpus = 1, .submit_s = 20});
  const Happened happened = happens(racks_of_nodes(1, 2, 4), jobs, "gandiva");
  EXPECT_EQ(happened.steps.back(), "20s j5 n1:1");
}

TEST(Gandiva, AnEmptyNodeIsTheSmallestThatWillDo) {
  const Happened happened = happens(load_cluster("1xV100:8,1xV100:4").value(),
                                    {{.gpus = 3}, {.gpus = 6, .submit_s = 1}}, "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n1:3", "1s j1 n0:6"}));
}

TEST(Gandiva, WithoutANodeOfItsSizeOrAnEmptyOneAGangTakesWhatIsFreeAnywhere) {
  const Happened happened = happens(racks_of_nodes(1, 2, 4),
                                    {{.gpus = 3},
                                     {.gpus = 2, .submit_s = 1},
                                     {.gpus = 1, .submit_s = 2},
                                     {.gpus = 2, .submit_s = 3}},
                                    "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:3", "1s j1 n1:2", "2s j2 n0:1", "3s j3 n1:2"}));
}

TEST(Gandiva, JobsOfACrowdedNodeTakeTurnsOfAMinute) {
  const Happened happened = happens(
      racks_of_nodes(1, 1, 4), {{.gpus = 4, .work_s = 120}, {.gpus = 4, .work_s = 90}}, "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:4", "60s j0 stop", "60s j1 n0:4", "120s j1 stop",
                                   "120s j0 n0:4", "180s j1 n0:4"}));
  EXPECT_EQ(happened.finishes, (Lines{"180s j0", "210s j1"}));
}

TEST(Gandiva, ANodeWithoutACrowdTakesNoPartInTheTurnsOfOthers) {
  const Happened happened = happens(racks_of_nodes(1, 2, 4),
                                    {{.gpus = 4, .work_s = 600},
                                     {.gpus = 3, .work_s = 600},
                                     {.gpus = 4, .submit_s = 1, .work_s = 600}},
                                    "gandiva", 500);
  EXPECT_EQ(std::ranges::count_if(happened.steps,
                                  [](const std::string& s) { return s.find("j1") != s.npos; }),
            1);
}

TEST(Gandiva, OnlyJobsOfTheSizeThatLivesThereCrowdANode) {
  // j1 finds neither room nor a node of its size, and waits until j0 has left.
  const Happened happened = happens(
      racks_of_nodes(1, 1, 4), {{.gpus = 4, .work_s = 100}, {.gpus = 2, .submit_s = 1}}, "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:4", "100s j1 n0:2"}));
}

TEST(Gandiva, AmongEquallyCrowdedHomesOneOnASingleNodeIsShared) {
  // j2 is spread over both nodes, which it makes full. At 60 s no job has had to wait for a turn.
  const Happened happened =
      happens(racks_of_nodes(1, 2, 3),
              {{.gpus = 2}, {.gpus = 2}, {.gpus = 2}, {.gpus = 2, .submit_s = 61}}, "gandiva", 130);
  EXPECT_EQ(happened.steps,
            (Lines{"0s j0 n0:2", "0s j1 n1:2", "0s j2 n0:1 n1:1", "120s j0 stop", "120s j3 n0:2"}));
}

TEST(Gandiva, AMigrationJoinsAFragmentedJobWhenAnotherLeaves) {
  const std::vector<TestJob> jobs = {{.gpus = 3, .work_s = 100},
                                     {.gpus = 3, .work_s = 500},
                                     {.gpus = 2, .submit_s = 1, .work_s = 500}};
  const Cluster cluster = racks_of_nodes(1, 2, 4);
  EXPECT_EQ(happens(cluster, jobs, "gandiva").steps,
            (Lines{"0s j0 n0:3", "0s j1 n1:3", "1s j2 n0:1 n1:1", "100s j2 stop", "100s j2 n0:2"}));
  EXPECT_EQ(happens(cluster, jobs, "gandiva:migrate=false").steps.size(), 3U);
}

TEST(Gandiva, AJobThatWaitsForItsTurnMovesToRoomThatALeavingJobMakes) {
  const Happened happened = happens(racks_of_nodes(1, 2, 4),
                                    {{.gpus = 4, .work_s = 500},
                                     {.gpus = 4, .work_s = 30},
                                     {.gpus = 4, .submit_s = 1, .work_s = 500}},
                                    "gandiva");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:4", "0s j1 n1:4", "30s j2 n1:4"}));
}

// Gangs of one size on one node, all there from the start. A job runs for the first time after as
// many turns as there are full nodes of jobs ahead of it. The turns of any two jobs never differ by
// more than one.
RC_GTEST_PROP(Gandiva, NoJobStarves, ()) {
  const auto gpus = *rc::gen::element<std::uint32_t>(1, 2, 4, 8);
  const auto count = *rc::gen::inRange<std::size_t>(1, 30);
  const auto turns = *rc::gen::inRange<std::int64_t>(1, 50);
  const std::size_t at_once = 8 / gpus;
  const std::vector<TestJob> jobs(count, TestJob{.gpus = gpus, .work_s = 1'000'000});
  const Happened happened = happens(racks_of_nodes(1, 1, 8), jobs, "gandiva:quantum_s=1", turns);
  std::vector<std::int64_t> first(count, -1);
  std::vector<std::int64_t> since(count, -1);
  std::vector<std::int64_t> had(count, 0);
  for (const std::string& step : happened.steps) {
    const std::int64_t at = std::stoll(step);
    const auto job = static_cast<std::size_t>(std::stoll(step.substr(step.find('j') + 1)));
    if (step.ends_with("stop")) {
      had[job] += at - since[job];
      since[job] = -1;
    } else {
      if (first[job] < 0) first[job] = at;
      since[job] = at;
    }
  }
  for (std::size_t job = 0; job < count; ++job) {
    const auto due = static_cast<std::int64_t>(job / at_once);
    if (due <= turns) RC_ASSERT(first[job] == due);
    if (since[job] >= 0) had[job] += turns - since[job];
  }
  const auto [least, most] = std::ranges::minmax(had);
  RC_ASSERT(most - least <= 1);
}

}  // namespace
}  // namespace fairlead
