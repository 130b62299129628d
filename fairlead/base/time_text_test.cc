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

TEST(TimeText, TablesRoundALengthOfTimeToWhatPeopleRead) {
  const std::pair<double, const char*> cases[] = {
      {0, "0.0 s"},         {4.23, "4.2 s"},     {9.96, "10 s"},           {59.4, "59 s"},
      {59.6, "1 min"},      {580, "9 min 40 s"}, {599.6, "10 min"},        {2340, "39 min"},
      {3569, "59 min"},     {3571, "1 h"},       {19'261.7, "5 h 21 min"}, {86'371, "1 d"},
      {194'400, "2 d 6 h"}, {863'000, "10 d"},   {1'000'000, "12 d"},      {-2340, "-39 min"}};
  for (const auto& [s, text] : cases) EXPECT_EQ(length_text(s), text) << s;
}

TEST(TimeText, AnInstantIsAnIsoDateInUtc) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(951'827'696'999), "2000-02-29T12:34:56Z");
  EXPECT_EQ(date_text(951'827'696'999), "2000-02-29 12:34");
}

TEST(TimeText, ALengthOfTimeIsReadWithItsUnits) {
  EXPECT_EQ(parse_span_s("90s"), 90);
  EXPECT_EQ(parse_span_s("1.5h"), 5400);
  EXPECT_EQ(parse_span_s("1h30m"), 5400);
  EXPECT_EQ(parse_span_s(" 2d 4h "), 187'200);
  EXPECT_EQ(parse_span_s("1 h 30 min"), 5400);
  for (const char* bad :
       {"", "2", "h", "2x", "0s", "-2h", "2h3", "2 ", "1.2.3s", "nan", "99999999d"}) {
    const auto span = parse_span_s(bad);
    ASSERT_FALSE(span) << bad;
    EXPECT_EQ(span.error().message,
              std::string("a length of time is like 90s, 30m, 2h or 1h30m: ") + bad);
  }
}

}  // namespace
}  // namespace fairlead
