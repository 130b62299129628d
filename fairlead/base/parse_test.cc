#include "fairlead/base/parse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace fairlead {
namespace {

TEST(ParseSeconds, IsExactInDecimals) {
  EXPECT_EQ(parse_seconds("0"), 0);
  EXPECT_EQ(parse_seconds("12"), 12'000);
  EXPECT_EQ(parse_seconds("2240194.0"), 2'240'194'000);
  EXPECT_EQ(parse_seconds("0.1"), 100);
  EXPECT_EQ(parse_seconds(".5"), 500);
  EXPECT_EQ(parse_seconds("5."), 5000);
  EXPECT_EQ(parse_seconds("+7"), 7000);
  EXPECT_EQ(parse_seconds(" 7\t"), 7000);
  EXPECT_EQ(parse_seconds("00000000000000000000000000000000000000000000012"), 12'000);
}

TEST(ParseSeconds, RoundsUpToWholeMilliseconds) {
  EXPECT_EQ(parse_seconds("0.0001"), 1);
  EXPECT_EQ(parse_seconds("1.0000"), 1000);
  EXPECT_EQ(parse_seconds("1.0010"), 1001);
  EXPECT_EQ(parse_seconds("1.00100000000000000000000000000000000000000001"), 1002);
  EXPECT_EQ(parse_seconds("0.00000000000000000000000000000000000000000000001"), 1);
}

TEST(ParseSeconds, TakesExponents) {
  EXPECT_EQ(parse_seconds("1e3"), 1'000'000);
  EXPECT_EQ(parse_seconds("1.5E+2"), 150'000);
  EXPECT_EQ(parse_seconds("2500e-3"), 2500);
  EXPECT_EQ(parse_seconds("1e-99"), 1);
  EXPECT_EQ(parse_seconds("0e99"), 0);
}

TEST(ParseSeconds, RefusesWhatIsNoDuration) {
  for (const char* text : {"", " ", ".", "-", "x", "1x", "1 2", "1,5", "1e", "1e+", "1e+-5",
                           "1.2.3", "nan", "inf", "0x10", "--1", "e5"})
    EXPECT_EQ(parse_seconds(text).error(), "must be seconds, such as 12 or 0.25") << text;
  EXPECT_EQ(parse_seconds("-1").error(), "must not be negative");
  EXPECT_EQ(parse_seconds("-0"), 0);
}

TEST(ParseSeconds, EndsAfterAHundredYears) {
  EXPECT_EQ(parse_seconds(fmt::format("{}e-3", kMsMax)), kMsMax);
  EXPECT_EQ(parse_seconds(fmt::format("{}e-3", kMsMax + 1)).error(), "must be at most 100 years");
  EXPECT_EQ(parse_seconds("1e300").error(), "must be at most 100 years");
  EXPECT_EQ(parse_seconds("99999999999999999999999999999999999999999999").error(),
            "must be at most 100 years");
}

RC_GTEST_PROP(ParseSeconds, ReadsBackEveryMillisecond, ()) {
  const auto ms = *rc::gen::inRange<std::int64_t>(0, kMsMax);
  RC_ASSERT(parse_seconds(fmt::format("{}.{:03}", ms / 1000, ms % 1000)) == ms);
}

TEST(ParseInteger, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer(" -42 "), -42);
  EXPECT_EQ(parse_integer("+42"), 42);
  EXPECT_EQ(parse_integer("8.0"), 8);
  EXPECT_EQ(parse_integer("10.00"), 10);
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("100"), 100);
  for (const char* text : {"", "x3", "3x", "8.5", ".0", "0x1", "1e3", "+-1", "9223372036854775808"})
    EXPECT_EQ(parse_integer(text).error(), "must be a whole number") << text;
}

TEST(ParseNumber, IsFinite) {
  EXPECT_EQ(parse_number("1.25"), 1.25);
  EXPECT_EQ(parse_number("-1e3"), -1000);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5"})
    EXPECT_EQ(parse_number(text).error(), "must be a number") << text;
}

TEST(ParseUnits, IsExactInEveryUnit) {
  EXPECT_EQ(parse_units("1500", Duration{1}), 1500);
  EXPECT_EQ(parse_units("1.5", Duration{1}), 2) << "rounded up";
  EXPECT_EQ(parse_units("0.1", seconds(60)), 6'000);
  EXPECT_EQ(parse_units("12.5", hours(1)), 45'000'000);
  EXPECT_EQ(parse_units("0.333333333333333333333333333333", hours(1)), 1'200'000);
  EXPECT_EQ(parse_units("1e9", hours(1)).error(), "must be at most 100 years");
  EXPECT_EQ(parse_units("-1", hours(1)).error(), "must not be negative");
}

}  // namespace
}  // namespace fairlead
