#include "fairlead/input/civil_time.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

std::int64_t utc_s(std::string_view text) { return parse_utc_time(text).value().ms / 1000; }
std::int64_t pacific_s(std::string_view text) {
  return pacific_to_utc(parse_wall_time(text).value()).ms / 1000;
}

TEST(ParseUtcTime, KnowsTheCalendar) {
  EXPECT_EQ(utc_s("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(utc_s("2000-02-29 12:00:00"), 951825600);
  EXPECT_EQ(utc_s("2017-09-04 17:30:41"), 1504546241);
  EXPECT_EQ(utc_s("2017-09-04T17:30:41Z"), 1504546241);
  EXPECT_EQ(utc_s("2017-09-04 17:30:41.999"), 1504546241);
}

TEST(ParseUtcTime, TakesOffsets) {
  const std::int64_t noon = utc_s("2023-03-01 12:00:00");
  EXPECT_EQ(utc_s("2023-03-01 12:00:00+00:00"), noon);
  EXPECT_EQ(utc_s("2023-03-01 13:30:00+01:30"), noon);
  EXPECT_EQ(utc_s("2023-03-01 04:00:00-0800"), noon);
  EXPECT_EQ(utc_s("2023-03-01 20:00:00 +08"), noon);
}

TEST(ParseUtcTime, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "None", "2017-09-04", "2017-13-01 00:00:00", "2017-02-29 00:00:00",
        "2017-09-04 24:00:00", "2017-09-04 23:60:00", "2017-09-04 23:59:61", "1969-12-31 23:59:59",
        "2017-9-4 1:2:3", "2017-09-04 17:30:41 PST", "2017-09-04 17:30:41+", "17-09-04 17:30:41",
        "2017-09-04 17:30:41+25:00", "2017-09-00 17:30:41", "2017-09-04x17:30:41"})
    EXPECT_EQ(parse_utc_time(text).error(), "must be a time, such as 2017-10-09 07:01:59") << text;
  EXPECT_FALSE(parse_wall_time("2017-09-04 17:30:41Z").has_value());
}

TEST(PacificToUtc, IsSevenHoursInSummerAndEightInWinter) {
  EXPECT_EQ(pacific_s("2017-09-04 10:30:41"), utc_s("2017-09-04 17:30:41"));
  EXPECT_EQ(pacific_s("2017-12-22 10:30:41"), utc_s("2017-12-22 18:30:41"));
}

TEST(PacificToUtc, EndsSavingTimeAt0200OnTheFirstSundayOfNovember) {
  EXPECT_EQ(pacific_s("2017-11-05 00:59:59"), utc_s("2017-11-05 07:59:59"));
  // 01:00 to 02:00 occurs twice; the first pass counts.
  EXPECT_EQ(pacific_s("2017-11-05 01:00:00"), utc_s("2017-11-05 08:00:00"));
  EXPECT_EQ(pacific_s("2017-11-05 01:59:59"), utc_s("2017-11-05 08:59:59"));
  EXPECT_EQ(pacific_s("2017-11-05 02:00:00"), utc_s("2017-11-05 10:00:00"));
}

TEST(PacificToUtc, BeginsSavingTimeAt0200OnTheSecondSundayOfMarch) {
  EXPECT_EQ(pacific_s("2018-03-11 01:59:59"), utc_s("2018-03-11 09:59:59"));
  // 02:00 to 03:00 does not occur; it is taken as standard time.
  EXPECT_EQ(pacific_s("2018-03-11 02:30:00"), utc_s("2018-03-11 10:30:00"));
  EXPECT_EQ(pacific_s("2018-03-11 03:00:00"), utc_s("2018-03-11 10:00:00"));
}

}  // namespace
}  // namespace fairlead
