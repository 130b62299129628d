#include "cli/settings.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Settings, HaveDefaults) {
  const auto settings = parse_settings({});
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->costs.start, seconds(10));
  EXPECT_FALSE(settings->reading.has_value());
}

TEST(Settings, AreAppliedInOrder) {
  const auto settings = parse_settings({"costs=none", "start_s=2.5", "migrate_s=7", "bin_s=3600",
                                        "reading=lenient", "reference_gpu=V100", "mtbf_h=100"});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->costs.start, milliseconds(2500));
  EXPECT_FALSE(settings->model_costs);
  EXPECT_EQ(settings->costs.resume, seconds(0));
  EXPECT_EQ(settings->costs.migrate[2], seconds(7));
  EXPECT_EQ(settings->timeline.bin, seconds(3600));
  EXPECT_EQ(settings->reading, Reading::kLenient);
  EXPECT_EQ(settings->reference_gpu, "V100");
  EXPECT_EQ(settings->faults.mtbf_h, 100);
}

std::string error_of(const char* assignment) {
  const auto settings = parse_settings({assignment});
  return settings ? "" : settings.error().message;
}

TEST(Settings, RefuseUnknownKeysAndNameTheNearestFirst) {
  EXPECT_TRUE(error_of("cost=none").starts_with("--set: no such key (there are: costs, "));
  EXPECT_TRUE(error_of("cost=none").ends_with(": cost"));
  EXPECT_EQ(error_of("costs"), "--set takes key=value: costs");
}

TEST(Settings, RefuseValuesOutOfRange) {
  EXPECT_EQ(error_of("costs=cheap"), "--set costs takes none or default: cheap");
  EXPECT_EQ(error_of("bin_s=0"), "--set bin_s takes seconds, at least 0.001: 0");
  EXPECT_EQ(error_of("start_s=-1"), "--set start_s takes seconds, at least 0: -1");
  EXPECT_NE(error_of("start_s=1e300"), "");
  EXPECT_NE(error_of("mtbf_h=nan"), "");
  EXPECT_NE(error_of("mttr_h=0"), "");
  EXPECT_NE(error_of("reading="), "");
}

TEST(Settings, HelpNamesEveryKeyThatAnErrorNames) {
  const std::string error = error_of("x=1");
  std::size_t at = error.find("there are: ") + 11;
  while (error[at - 1] != ')') {
    const std::size_t end = error.find_first_of(",)", at);
    EXPECT_NE(settings_help().find("\n  " + error.substr(at, end - at) + " "), std::string::npos);
    at = error[end] == ',' ? end + 2 : end + 1;
  }
}

}  // namespace
}  // namespace fairlead
