#include "fairlead/report/csv_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

std::string written(void (*write)(CsvWriter&)) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fairlead_csv_writer_test.csv";
  auto file = OutputFile::create(path);
  EXPECT_TRUE(file.has_value());
  CsvWriter csv(*file, "a,b");
  write(csv);
  EXPECT_TRUE(file->commit().has_value());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

TEST(CsvWriter, WritesAHeaderAndRows) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              csv.text("x");
              csv.integer(-3);
              csv.end_row();
              csv.empty();
              csv.empty();
              csv.end_row();
            }),
            "a,b\nx,-3\n,\n");
}

TEST(CsvWriter, QuotesWhatWouldBreakARow) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              csv.text("a,b");
              csv.text("say \"hi\"");
              csv.text("two\nlines");
              csv.end_row();
            }),
            "a,b\n\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n");
}

TEST(CsvWriter, TextsAreNoFormulasInASpreadsheet) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              for (const char* name : {"=1+1", "+a", "-a", "@a", "\ta", "a=1", "'a"})
                csv.text(name);
              csv.end_row();
              csv.text("=cmd|' /C calc'!A0,\"x\"");
              csv.text("\rb");
              csv.text("");
              csv.end_row();
            }),
            "a,b\n'=1+1,'+a,'-a,'@a,'\ta,a=1,'a\n\"'=cmd|' /C calc'!A0,\"\"x\"\"\",\"'\rb\",\n");
}

TEST(CsvWriter, NegativeNumbersStayNumbers) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              csv.integer(-1);
              csv.number(-0.5);
              csv.end_row();
            }),
            "a,b\n-1,-0.5\n");
}

TEST(CsvWriter, LosesNoMillisecond) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              for (std::int64_t ms : {0, 1, 10, 100, 1000, 1050, 123456789}) csv.seconds({ms});
              csv.end_row();
            }),
            "a,b\n0,0.001,0.01,0.1,1,1.05,123456.789\n");
}

TEST(CsvWriter, TrimsNumbers) {
  EXPECT_EQ(written([](CsvWriter& csv) {
              csv.number(0);
              csv.number(2.5);
              csv.number(100);
              csv.number(1.0 / 3);
              csv.end_row();
            }),
            "a,b\n0,2.5,100,0.333333\n");
}

}  // namespace
}  // namespace fairlead
