#include "fairlead/cli/progress.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Progress, EstimatesFromTheRunsThatAreDone) {
  // Nine runs of 10 s; the present one has not reported yet.
  EXPECT_EQ(runs_text({.runs = 12,
                       .done = 3,
                       .elapsed_s = 30,
                       .done_s = 30,
                       .running = {{.name = "las seed 2", .elapsed_s = 0}}}),
            "3 of 12 runs, 30 s, about 2 min left; now: las seed 2");
  EXPECT_EQ(runs_text({.runs = 4, .done = 1, .elapsed_s = 7200, .done_s = 7200}),
            "1 of 4 runs, 2.0 h, about 6.0 h left");
}

TEST(Progress, ASlowRunCountsByItsWork) {
  // Fast runs are done, and the last one has done a tenth of its work in 60 s.
  const RunsState state{.runs = 9,
                        .done = 8,
                        .elapsed_s = 100,
                        .done_s = 80,
                        .parallel = 2,
                        .running = {{.name = "las", .elapsed_s = 60, .part_done = 0.1}}};
  EXPECT_DOUBLE_EQ(left_s(state).value(), 540);
  EXPECT_EQ(runs_text(state), "8 of 9 runs, 2 min, about 9 min left; now: las 10 %");
}

TEST(Progress, RunsAtTheSameTimeShareTheWorkThatIsLeft) {
  // Two runs with 50 s left, and two of 100 s that have not started, on two cores.
  const RunsState state{.runs = 4,
                        .elapsed_s = 50,
                        .parallel = 2,
                        .running = {{.name = "a", .elapsed_s = 50, .part_done = 0.5},
                                    {.name = "b", .elapsed_s = 50, .part_done = 0.5}}};
  EXPECT_DOUBLE_EQ(left_s(state).value(), 150);
}

TEST(Progress, EstimatesNothingWhereNothingIsKnown) {
  EXPECT_EQ(runs_text({.runs = 2, .elapsed_s = 5, .running = {{.name = "fifo", .elapsed_s = 5}}}),
            "0 of 2 runs, 5 s; now: fifo");
  EXPECT_EQ(runs_text({.runs = 2, .done = 2, .elapsed_s = 90, .done_s = 90}), "2 of 2 runs, 2 min");
}

}  // namespace
}  // namespace fairlead
