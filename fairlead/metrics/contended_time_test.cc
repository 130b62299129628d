#include "fairlead/metrics/contended_time.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(ContendedTime, IsKnownAtEveryMomentPassed) {
  ContendedTime contended;
  EXPECT_EQ(contended.up_to({5}), Duration{});
  contended.set({0}, false);
  contended.set({10}, true);
  contended.set({15}, true);
  contended.set({20}, false);
  contended.set({30}, true);
  const std::int64_t expected_ms[] = {0, 0, 0, 5, 10, 10, 10, 15};
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(contended.up_to({5 * i}).ms, expected_ms[i]) << 5 * i << " ms";
  }
}

TEST(ContendedTime, CountsWhatChangesBackAtOnceAsNothing) {
  ContendedTime contended;
  contended.set({10}, true);
  contended.set({10}, false);
  EXPECT_EQ(contended.up_to({10}), Duration{});
  EXPECT_EQ(contended.up_to({99}), Duration{});
}

}  // namespace
}  // namespace fairlead
