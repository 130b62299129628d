#include "fairlead/cli/progress.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Progress, EstimatesFromTheRunsThatAreDone) {
  EXPECT_EQ(runs_text({.runs = 12, .done = 3, .elapsed_s = 30, .running = {"fifo", "las seed 2"}}),
            "3 of 12 runs, 30 s, about 2 min left; now: fifo, las seed 2");
  EXPECT_EQ(runs_text({.runs = 4, .done = 1, .elapsed_s = 7200, .running = {"las"}}),
            "1 of 4 runs, 2.0 h, about 6.0 h left; now: las");
}

TEST(Progress, EstimatesNothingWithoutARunThatIsDoneOrToCome) {
  EXPECT_EQ(runs_text({.runs = 2, .done = 0, .elapsed_s = 5, .running = {"fifo"}}),
            "0 of 2 runs, 5 s; now: fifo");
  EXPECT_EQ(runs_text({.runs = 2, .done = 2, .elapsed_s = 90}), "2 of 2 runs, 2 min");
}

}  // namespace
}  // namespace fairlead
