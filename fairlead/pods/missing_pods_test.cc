#include "fairlead/pods/missing_pods.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Time at(std::int64_t s) { return Time{} + seconds(s); }

TEST(MissingPods, AGangLosesItsPlaceAfterAWhileAndForLongerEachTime) {
  MissingPods missing;
  EXPECT_FALSE(missing.look("g", "no pods", true, at(100)));
  EXPECT_EQ(missing.due(), at(110));
  EXPECT_FALSE(missing.look("g", "no pods", true, at(109)));
  EXPECT_TRUE(missing.look("g", "no pods", true, at(110)));
  EXPECT_EQ(missing.why("g"), "no pods");
  EXPECT_TRUE(missing.look("g", "", false, at(111)))
      << "its owner is suspended, the pause is not over";
  EXPECT_EQ(missing.due(), at(120));
  EXPECT_FALSE(missing.look("g", "", false, at(120)));
  EXPECT_EQ(missing.why("g"), "");
  EXPECT_FALSE(missing.look("g", "no pods", true, at(130)));
  EXPECT_FALSE(missing.look("g", "no pods", true, at(149)));
  EXPECT_TRUE(missing.look("g", "no pods", true, at(150)));
  EXPECT_TRUE(missing.look("g", "", false, at(169)));
  EXPECT_FALSE(missing.look("g", "", false, at(170)));
}

TEST(MissingPods, AGangWithoutAPlaceWaitsWithoutAPause) {
  MissingPods missing;
  EXPECT_FALSE(missing.look("g", "no pods", false, at(0)));
  EXPECT_TRUE(missing.look("g", "no pods", false, at(10)));
  EXPECT_FALSE(missing.look("g", "", false, at(11)));
  EXPECT_EQ(missing.due(), Time::never());
}

TEST(MissingPods, AShortAbsenceIsNoReason) {
  MissingPods missing;
  EXPECT_FALSE(missing.look("g", "no pods", true, at(0)));
  EXPECT_FALSE(missing.look("g", "", true, at(5)));
  EXPECT_FALSE(missing.look("g", "no pods", true, at(8)));
  EXPECT_FALSE(missing.look("g", "no pods", true, at(17)));
  EXPECT_EQ(missing.late(at(17)), std::vector<std::string>());
  EXPECT_EQ(missing.late(at(18)), std::vector<std::string>{"g"});
}

TEST(MissingPods, NoTimeIsDueWhileAGangLeavesItsPlace) {
  MissingPods missing;
  EXPECT_FALSE(missing.look("g", "no pods", true, at(0)));
  EXPECT_FALSE(missing.rest("g", at(10)));
  EXPECT_EQ(missing.due(), Time::never());
  EXPECT_FALSE(missing.look("g", "no pods", true, at(20)));
  EXPECT_TRUE(missing.look("g", "no pods", true, at(30)));
  EXPECT_TRUE(missing.rest("g", at(50))) << "it is held until it has left";
  EXPECT_EQ(missing.due(), Time::never());
  EXPECT_FALSE(missing.look("g", "", false, at(51)));
}

}  // namespace
}  // namespace fairlead
