#include "fairlead/base/time_text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(TimeText, ALengthOfTimeHasItsTwoLargestUnits) {
  EXPECT_EQ(span_text(0), "0s");
  EXPECT_EQ(span_text(-5), "0s");
  EXPECT_EQ(span_text(999), "0s");
  EXPECT_EQ(span_text(59'999), "59s");
  EXPECT_EQ(span_text(60'000), "1m");
  EXPECT_EQ(span_text(185'000), "3m 5s");
  EXPECT_EQ(span_text(7'500'000), "2h 5m");
  EXPECT_EQ(span_text(3'605'000), "1h");
  EXPECT_EQ(span_text(100 * 3'600'000), "4d 4h");
}

TEST(TimeText, ALengthOfTimeIsReadWithItsUnits) {
  EXPECT_EQ(parse_span_s("90s"), 90);
  EXPECT_EQ(parse_span_s("1.5h"), 5400);
  EXPECT_EQ(parse_span_s("1h30m"), 5400);
  EXPECT_EQ(parse_span_s(" 2d 4h "), 187'200);
  for (const char* bad : {"", "2", "h", "2x", "0s", "-2h", "2h3", "1.2.3s", "nan", "99999999d"}) {
    const auto span = parse_span_s(bad);
    ASSERT_FALSE(span) << bad;
    EXPECT_EQ(span.error().message,
              std::string("a length of time is like 90s, 30m, 2h or 1h30m: ") + bad);
  }
}

}  // namespace
}  // namespace fairlead
