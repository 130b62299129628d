#include "fairlead/cli/wall_instant.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace fairlead {
namespace {

// Berlin has UTC+1, and UTC+2 from the last Sunday of March to the last of October.
class WallInstant : public testing::Test {
 protected:
  WallInstant() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~WallInstant() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static std::string at(std::string_view text, std::int64_t now = kNow) {
    const auto instant = parse_wall_instant(text, now);
    return instant ? wall_text(*instant) : instant.error().message;
  }
  static constexpr std::int64_t kNow = 1'795'873'500'000;  // Sat 2026-11-28 14:45
};

TEST_F(WallInstant, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(at("now"), "Sat 2026-11-28 14:45");
  EXPECT_EQ(at("in 2h 5m"), "Sat 2026-11-28 16:50");
  EXPECT_EQ(at("15:00"), "Sat 2026-11-28 15:00");
  EXPECT_EQ(at("9:00"), "Sun 2026-11-29 09:00");
  EXPECT_EQ(at("tue 9:00"), "Tue 2026-12-01 09:00");
  EXPECT_EQ(at("Tuesday 09:00"), "Tue 2026-12-01 09:00");
  EXPECT_EQ(at("sat 14:45"), "Sat 2026-11-28 14:45");
  EXPECT_EQ(at("sat 14:44"), "Sat 2026-12-05 14:44");
  EXPECT_EQ(at("today 9:00"), "Sat 2026-11-28 09:00");
  EXPECT_EQ(at("tomorrow 0:30"), "Sun 2026-11-29 00:30");
  EXPECT_EQ(at("2026-12-01"), "Tue 2026-12-01 00:00");
  EXPECT_EQ(at(" 2026-12-01  9:05 "), "Tue 2026-12-01 09:05");
  EXPECT_EQ(at("Tue 2026-12-01 09:05"), "Tue 2026-12-01 09:05");
  EXPECT_EQ(at("2026-12-01T09:05"), "Tue 2026-12-01 09:05");
}

TEST_F(WallInstant, KeepTheirClockTimeIfTheClocksChange) {
  constexpr std::int64_t kDayMs = 86'400'000;
  constexpr std::int64_t kSaturday = 1'774'695'600'000;  // Sat 2026-03-28 12:00
  EXPECT_EQ(at("now", kSaturday), "Sat 2026-03-28 12:00");
  EXPECT_EQ(at("mon 12:00", kSaturday), "Mon 2026-03-30 12:00");
  EXPECT_EQ(*parse_wall_instant("mon 12:00", kSaturday), kSaturday + 2 * kDayMs - 3'600'000);
}

TEST_F(WallInstant, OtherTextsAreRefusedWithTheForms) {
  for (const char* text : {"", "tue", "9", "25:00", "9:60", "2026-13-01", "2026-02-30 9:00",
                           "foo 9:00", "tuesdays 9:00"})
    EXPECT_TRUE(at(text).starts_with("write a time like 'tue 9:00'")) << text << ": " << at(text);
  EXPECT_FALSE(parse_wall_instant("in", kNow));
  EXPECT_FALSE(parse_wall_instant("in x", kNow));
}

}  // namespace
}  // namespace fairlead
