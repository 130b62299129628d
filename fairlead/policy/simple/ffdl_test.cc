#include "testing/steps.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Lines = std::vector<std::string>;

TEST(Ffdl, PackingFillsUpNodesAndSpreadingEvensThemOut) {
  const std::vector<TestJob> jobs = {
      {.gpus = 3}, {.gpus = 1, .submit_s = 1}, {.gpus = 4, .submit_s = 2}};
  const Cluster cluster = racks_of_nodes(1, 3, 4);
  EXPECT_EQ(happens(cluster, jobs, "ffdl").steps,
            (Lines{"0s j0 n0:3", "1s j1 n0:1", "2s j2 n1:4"}));
  EXPECT_EQ(happens(cluster, jobs, "ffdl:placement=spread").steps,
            (Lines{"0s j0 n0:1 n1:1 n2:1", "1s j1 n0:1", "2s j2 n0:1 n1:2 n2:1"}));
}

TEST(Ffdl, TheFirstGangThatFindsNoRoomDelaysAllBehindIt) {
  const Happened happened = happens(racks_of_nodes(1, 1, 4),
                                    {{.gpus = 3, .work_s = 100},
                                     {.gpus = 2, .submit_s = 1, .work_s = 100},
                                     {.gpus = 1, .submit_s = 2, .work_s = 100}},
                                    "ffdl");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:3", "100s j1 n0:2", "100s j2 n0:1"}));
  EXPECT_EQ(happened.problems, Lines{});
}

TEST(Ffdl, AGangStartsWholeOrNotAtAllAndIsNeverStopped) {
  const Happened happened = happens(
      racks_of_nodes(1, 2, 2), {{.gpus = 3, .work_s = 10}, {.gpus = 4, .submit_s = 1}}, "ffdl");
  EXPECT_EQ(happened.steps, (Lines{"0s j0 n0:2 n1:1", "10s j1 n0:2 n1:2"}));
}

}  // namespace
}  // namespace fairlead
