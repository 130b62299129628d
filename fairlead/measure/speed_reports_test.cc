#include "fairlead/measure/speed_reports.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(SpeedReports, ASpeedIsNewsIfItIsTheFirstOrDiffersByATwentieth) {
  EXPECT_TRUE(is_news(3, 0));
  EXPECT_FALSE(is_news(1.04, 1));
  EXPECT_FALSE(is_news(0.96, 1));
  EXPECT_TRUE(is_news(1.06, 1));
  EXPECT_TRUE(is_news(0.94, 1));
}

TEST(SpeedReports, AnImplausibleSpeedIsCutOff) {
  EXPECT_EQ(plausible(2.5), 2.5);
  EXPECT_EQ(plausible(1e12), 1000);
}

TEST(SpeedReports, TheTimeLeftIsOfTheReferenceGang) {
  EXPECT_EQ(time_left({400, 1000, "steps"}, 2, 3), seconds(900));
  EXPECT_EQ(time_left({400, 0, "steps"}, 2, 1), std::nullopt);
  EXPECT_EQ(time_left({1000, 1000, "steps"}, 2, 1), std::nullopt);
  EXPECT_EQ(time_left({400, 1000, "steps"}, 0, 1), std::nullopt);
  EXPECT_EQ(time_left({0, 1e300, "steps"}, 1, 1), seconds(1'000'000'000));
}

}  // namespace
}  // namespace fairlead
