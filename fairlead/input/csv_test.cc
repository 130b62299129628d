#include "fairlead/input/csv.h"

#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Table = std::vector<std::vector<std::string>>;

// All fields of all rows after the header; a bad row is its reason.
Table rows_of(std::string_view text, CsvDialect dialect = {}) {
  auto source = ByteSource::memory(text, "t");
  CsvReader csv(*source, dialect);
  EXPECT_TRUE(csv.read_header().has_value());
  Table rows;
  while (csv.next().value_or(false)) {
    WorkloadBuilder strict("w", Reading::kStrict);
    rows.emplace_back();
    if (csv.bad()) rows.back().push_back(csv.reject(strict).error().message);
    for (std::size_t i = 0; !csv.bad() && i < csv.header().size(); ++i)
      rows.back().emplace_back(csv.text(i));
  }
  return rows;
}

TEST(CsvReader, SplitsPlainRows) {
  EXPECT_EQ(rows_of("a,b\n1,2\n\n,\n x , y \r\n"), (Table{{"1", "2"}, {"", ""}, {"x", "y"}}));
}

TEST(CsvReader, UndoesQuotes) {
  EXPECT_EQ(rows_of("a,b\n\"1,5\",\"\"\n\"say \"\"hi\"\"\",x\n\" x \",\"\"\"\"\n"),
            (Table{{"1,5", ""}, {"say \"hi\"", "x"}, {" x ", "\""}}));
}

TEST(CsvReader, AQuotedFieldMaySpanLines) {
  EXPECT_EQ(rows_of("a,b\n\"1\n2\r\n\n3\",x\n4,5\n"), (Table{{"1\n2\r\n\n3", "x"}, {"4", "5"}}));
}

TEST(CsvReader, AQuoteInsideAPlainFieldIsACharacter) {
  EXPECT_EQ(rows_of("a,b\n5\" disk,x\ny,6\"\n"), (Table{{"5\" disk", "x"}, {"y", "6\""}}));
}

TEST(CsvReader, OtherSeparatorsAndNoQuotes) {
  EXPECT_EQ(rows_of("a|b\n\"1|2\"\n", {.separator = '|', .quotes = false}),
            (Table{{"\"1", "2\""}}));
}

TEST(CsvReader, SaysWhatIsWrongWithARow) {
  EXPECT_EQ(rows_of("a,b\n1\n2,3\n"),
            (Table{{"t:2: row must have as many fields as the header"}, {"2", "3"}}));
  EXPECT_EQ(rows_of("a,b\n1,2,3\n"), (Table{{"t:2: row must have as many fields as the header"}}));
  EXPECT_EQ(rows_of("a,b\n\"1\"x,2\n"), (Table{{"t:2: row has text after a closing quote"}}));
}

TEST(CsvReader, AQuoteThatIsNeverClosedEndsTheReading) {
  auto source = ByteSource::memory("a,b\n1,2\n3,\"4\n5,6\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header().has_value());
  EXPECT_TRUE(csv.next().value());
  EXPECT_EQ(csv.next().error().message, "t:3: a quote is not closed");
}

TEST(CsvReader, RefusesHeadersItCannotUse) {
  auto empty = ByteSource::memory("", "t");
  EXPECT_EQ(CsvReader(*empty).read_header().error().message, "t: the file is empty");
  auto twice = ByteSource::memory("a,b, a\n", "t");
  EXPECT_EQ(CsvReader(*twice).read_header().error().message,
            "t:1:5: the header names a column twice: a");
}

TEST(CsvReader, FindsColumnsByName) {
  auto source = ByteSource::memory("a, b ,c\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header().has_value());
  EXPECT_EQ(csv.find("b"), 1u);
  EXPECT_EQ(csv.find("d"), CsvReader::kMissing);
  EXPECT_EQ(csv.require({"d", "c"}).value(), 2u);
  EXPECT_EQ(csv.require("d").error().message, "t:1: the header lacks the column: d");
  EXPECT_EQ(csv.require({"d", "e"}).error().message, "t:1: the header lacks the column: d or e");
}

TEST(CsvReader, RemembersTheFirstBadFieldOfARow) {
  auto source = ByteSource::memory("a,b,c\n1, x3,-1\n2,3,4\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header().has_value());
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.integer(0, 0, 9), 1);
  EXPECT_EQ(csv.integer(1, 0, 9), 0);
  EXPECT_EQ(csv.time(2), Time{0});
  WorkloadBuilder strict("w", Reading::kStrict);
  EXPECT_EQ(csv.reject(strict).error().message, "t:2:3: b must be a whole number from 0 to 9: x3");
  ASSERT_TRUE(csv.next().value());
  EXPECT_FALSE(csv.bad());
  EXPECT_EQ(csv.integer(1, 0, 2), 0);
  EXPECT_EQ(csv.reject(strict).error().message, "t:3:3: b must be a whole number from 0 to 2: 3");
}

TEST(CsvReader, AMissingColumnIsEmptyAndZero) {
  auto source = ByteSource::memory("a\n1\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header().has_value());
  ASSERT_TRUE(csv.next().value());
  EXPECT_EQ(csv.text(CsvReader::kMissing), "");
  EXPECT_EQ(csv.integer(CsvReader::kMissing, 1, 2), 0);
  EXPECT_EQ(csv.duration(CsvReader::kMissing), Duration{0});
  EXPECT_FALSE(csv.bad());
}

TEST(CsvReader, ASkippedRowIsNoErrorInStrictReading) {
  auto source = ByteSource::memory("a\n1\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header().has_value());
  ASSERT_TRUE(csv.next().value());
  csv.skip("no job");
  EXPECT_TRUE(csv.bad());
  WorkloadBuilder strict("w", Reading::kStrict);
  EXPECT_TRUE(csv.reject(strict).has_value());
  EXPECT_EQ(strict.finish().rows.rows_rejected.at("no job"), 1);
}

TEST(CsvReader, DashesBelowTheNamesTellWhereFieldsStand) {
  EXPECT_EQ(rows_of("id    name  \n--- ------ \na b    c d \nlong word+\n1\n",
                    {.separator = '|', .quotes = false, .ruled = true}),
            (Table{{"a b", "c d"}, {"lon", "word+"}, {"1", ""}}));
  auto source = ByteSource::memory("id name\n1 2\n", "t");
  CsvReader csv(*source, {.ruled = true});
  EXPECT_EQ(csv.read_header().error().message,
            "t:2: must be dashes below the names of the columns");
}

TEST(CsvReader, ALineThatNamesTheSeparatorIsNoHeader) {
  EXPECT_EQ(rows_of("sep=;\na;b\n1;2\n", {.separator = ';'}), (Table{{"1", "2"}}));
}

TEST(CsvReader, ConditionsAreOnColumnsWhateverTheirCase) {
  auto source = ByteSource::memory("State,n\nDONE,1\nFAILED,2\n", "t");
  CsvReader csv(*source);
  ASSERT_TRUE(csv.read_header());
  ASSERT_TRUE(csv.set_conditions({{"state", "DONE"}, {"n", "2", false}}));
  ASSERT_TRUE(csv.next().value());
  EXPECT_TRUE(csv.keeps_conditions());
  ASSERT_TRUE(csv.next().value());
  EXPECT_FALSE(csv.keeps_conditions());
  EXPECT_EQ(csv.set_conditions({{"stat", "DONE"}}).error().message,
            "--where: no such column (there are: State, n): stat");
}

}  // namespace
}  // namespace fairlead
