#include "fairlead/input/civil_time.h"

#include <fmt/format.h>
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

// Returns a calendar time in seconds, or its error.
std::string civil(std::string_view text, DayOrder order = DayOrder::kUnknown) {
  const auto parsed = parse_civil_time(text, order);
  if (!parsed) return std::string(parsed.error());
  return fmt::format("{}{}", parsed->time.ms / 1000, parsed->has_zone ? " zone" : "");
}

TEST(UtcOffsets, AreValidFromTheirTimesOn) {
  const auto offsets = parse_utc_offsets("+02:00,2026-10-25T03:00:00=+01:00");
  ASSERT_TRUE(offsets);
  EXPECT_EQ(offsets->text(), "UTC+2, from 2026-10-25 03:00:00 on UTC+1");
  const auto utc = [&](std::string_view wall) { return offsets->utc(*parse_wall_time(wall)); };
  EXPECT_EQ(utc("2026-10-25T02:59:59"), *parse_utc_time("2026-10-25T00:59:59Z"));
  EXPECT_EQ(utc("2026-10-25T03:00:00"), *parse_utc_time("2026-10-25T02:00:00Z"));
  EXPECT_EQ(UtcOffsets().utc({5}).ms, 5);
  EXPECT_EQ(parse_utc_offsets("-0330")->text(), "UTC-3:30");
}

TEST(UtcOffsets, AreRefusedIfTheyAreNone) {
  for (const char* text :
       {"2", "+25:00", "2026-10-25T03:00:00=+01:00", "+01:00,+02:00", "+01:00,2026-10-25=+02:00",
        "+01:00,2026-10-25T03:00:00=+02:00,2026-03-29T03:00:00=+01:00"})
    EXPECT_FALSE(parse_utc_offsets(text)) << text;
}

TEST(ParseCivilTime, KnowsTheWaysPeopleWriteIt) {
  for (const char* text :
       {"2026-01-31 07:01:00", "2026-01-31T07:01", "2026/1/31 7:01", "31.1.2026 7:01",
        "31/01/2026 07:01:00", "1/31/2026 7:01 AM", "01-31-2026 07:01am"}) {
    EXPECT_EQ(civil(text), "1769842860") << text;
  }
  EXPECT_EQ(civil("2026-01-31"), "1769817600");
  EXPECT_EQ(civil("1/31/2026 12:00 AM"), "1769817600");
  EXPECT_EQ(civil("1/31/2026 12:00 PM"), "1769860800");
  EXPECT_EQ(civil("2026-01-31T08:01:00+01:00"), "1769842860 zone");
  EXPECT_EQ(civil("2026-01-31 07:01:00 UTC"), "1769842860 zone");
  EXPECT_EQ(parse_civil_time("2026-01-31 07:01:00.25", {})->time.ms % 1000, 250);
}

TEST(ParseCivilTime, ADateThatMayBeTwoIsNone) {
  EXPECT_EQ(civil("4/5/2026 7:00"), kAmbiguousDay);
  EXPECT_EQ(civil("4/5/2026 7:00", DayOrder::kMonthFirst), civil("2026-04-05 07:00"));
  EXPECT_EQ(civil("4/5/2026 7:00", DayOrder::kDayFirst), civil("2026-05-04 07:00"));
  EXPECT_EQ(civil("5/5/2026 7:00"), civil("2026-05-05 07:00")) << "it is one";
  EXPECT_EQ(parse_civil_time("1/31/2026", {})->order, DayOrder::kMonthFirst);
  EXPECT_EQ(parse_civil_time("31/1/2026", {})->order, DayOrder::kDayFirst);
}

TEST(ParseCivilTime, RefusesWhatIsNone) {
  for (const char* text : {"", "12", "1.5", "-5", "2026-02-30", "2026-01-31 24:00", "2026-01-31 7",
                           "13/13/2026", "1/31/26", "2026.01.31", "2026-01-31 13:00 PM",
                           "2026-01-31 07:01:00 CET", "2026-01-31x", "1969-12-31"}) {
    EXPECT_FALSE(parse_civil_time(text, DayOrder::kUnknown)) << text;
  }
}

TEST(ParseClockLength, AddsItsParts) {
  EXPECT_EQ(parse_clock_length("26:03:04", false), 93'784'000);
  EXPECT_EQ(parse_clock_length("1-02:03:04", false), 93'784'000);
  EXPECT_EQ(parse_clock_length("1 day, 2:03:04", false), 93'784'000);
  EXPECT_EQ(parse_clock_length("2 days, 0:00:00.5", false), 172'800'500);
  EXPECT_EQ(parse_clock_length("0:00:00,0001", false), 1) << "rounded up";
  EXPECT_EQ(parse_clock_length("02:03", true), 123'000);
}

TEST(ParseClockLength, RefusesWhatMayBeTwoOrIsNone) {
  EXPECT_EQ(parse_clock_length("02:03", false).error(),
            "may be h:mm or m:ss: write h:mm:ss, or a number with --unit");
  for (const char* text : {"", "5", "1-", "1:60:00", "1:00:60", "1:2:3:4", "a:bb:cc", "1::2",
                           "-1:00:00", "9999999999:00:00", "1 dog, 2:03:04"}) {
    EXPECT_FALSE(parse_clock_length(text, false)) << text;
  }
  EXPECT_EQ(parse_clock_length("999999-00:00:00", false).error(), "must be at most 100 years");
}

}  // namespace
}  // namespace fairlead
