#include "fairlead/report/table.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Table, IsSplitWhereItIsTooWideWithItsKeysInEachPart) {
  Table table({{"policy", Align::kLeft}, {"first"}, {"second"}, {"third"}});
  table.add_row({"fifo", "1", "2", "3"});
  EXPECT_EQ(table.text(TextStyle::kPlain, 22),
            "policy  first  second\n"
            "fifo        1       2\n"
            "\n"
            "policy  third\n"
            "fifo        3\n");
  EXPECT_EQ(table.text(TextStyle::kPlain, 28),
            "policy  first  second  third\n"
            "fifo        1       2      3\n");
  EXPECT_EQ(table.text(TextStyle::kPlain, 3),
            "policy  first\nfifo        1\n\npolicy  second\nfifo         2\n\n"
            "policy  third\nfifo        3\n")
      << "a part has one column besides the keys, at least";
}

TEST(Table, AMarkedCellHasAStarAndIsBoldOnATerminal) {
  Table table({{"policy", Align::kLeft}, {"wait"}, {"rest"}});
  table.add_row({"fifo", "20 s", "a"});
  table.add_row({"sjf", "9 s", "b"});
  table.mark(1);
  EXPECT_EQ(table.text(TextStyle::kPlain),
            "policy  wait   rest\n"
            "fifo    20 s      a\n"
            "sjf      9 s*     b\n");
  EXPECT_EQ(table.text(TextStyle::kTerminal),
            "\x1b[1mpolicy  wait   rest\n\x1b[0m"
            "fifo    20 s      a\n"
            "sjf      \x1b[1m9 s*\x1b[0m     b\n");
}

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({{"user", Align::kLeft}, {"jobs"}});
  table.add_row({"ann", "1,000"});
  table.add_row({"zoë", "7"});
  EXPECT_EQ(table.text(TextStyle::kPlain),
            "user   jobs\n"
            "ann   1,000\n"
            "zoë       7\n");
}

TEST(Table, EmphasisesItsHeaderOnlyOnATerminal) {
  Table table({{"user", Align::kLeft}});
  EXPECT_EQ(table.text(TextStyle::kPlain), "user\n");
  EXPECT_NE(table.text(TextStyle::kTerminal).find("\x1b["), std::string::npos);
}

TEST(Table, KeepsControlCharactersOffTheTerminal) {
  Table table({{"user", Align::kLeft}});
  table.add_row({"a\x1b[31mb\n"});
  EXPECT_EQ(table.text(TextStyle::kPlain), "user\na?[31mb?\n");
}

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(number_text(12345.678, 1), "12,345.7");
  EXPECT_EQ(percent_text(0.1234), "12.3 %");
}

}  // namespace
}  // namespace fairlead
