#include "fairlead/measure/output_line.h"

#include "fairlead/base/parse.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace fairlead {
namespace {

// A row of tests/data/output/progress.tsv.
struct Row {
  std::optional<PrintedStep> step;
  std::string line;
};

double quotient(const std::string& text) {
  const std::size_t slash = text.find('/');
  const double top = parse_number(text.substr(0, slash)).value();
  return slash == text.npos ? top : top / parse_number(text.substr(slash + 1)).value();
}

Row row_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> fields(5);
  for (std::string& field : fields) std::getline(in, field, '\t');
  Row row;
  std::getline(in, row.line);
  for (std::size_t at; (at = row.line.find("\\e")) != row.line.npos;) {
    row.line.replace(at, 2, "\x1b");
  }
  if (fields[0] == "-") return row;
  row.step = PrintedStep{.done = quotient(fields[0]),
                         .total = quotient(fields[1]),
                         .step_per_s = quotient(fields[2]),
                         .is_epoch = fields[3] == "epoch"};
  return row;
}

std::vector<Row> corpus() {
  std::ifstream file("tests/data/output/progress.tsv");
  EXPECT_TRUE(file);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) rows.push_back(row_of(line));
  }
  return rows;
}

TEST(OutputLine, LinesOfTheCorpusAreReadExactly) {
  int steps = 0;
  for (const Row& row : corpus()) {
    SCOPED_TRACE(row.line);
    const auto step = parse_output_line(plain_line(row.line));
    EXPECT_EQ(step.has_value(), row.step.has_value()) << (step ? step->format : "");
    if (!step || !row.step) continue;
    ++steps;
    EXPECT_EQ(step->done, row.step->done);
    EXPECT_EQ(step->total, row.step->total);
    EXPECT_DOUBLE_EQ(step->step_per_s, row.step->step_per_s);
    EXPECT_EQ(step->is_epoch, row.step->is_epoch);
  }
  EXPECT_GE(steps, 35);
}

TEST(OutputLine, EveryPartOfALineIsSafeToRead) {
  for (const Row& row : corpus()) {
    const std::string line = plain_line(row.line);
    for (std::size_t i = 0; i <= line.size(); ++i) {
      (void)parse_output_line(std::string_view(line).substr(i));
      (void)parse_output_line(std::string_view(line).substr(0, i));
    }
  }
}

TEST(OutputLine, AnEpochIsNeverAStep) {
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (const char* format :
         {"epoch {}/20 accuracy 12/50", "Epoch {}/20 loss: 0.5", "Epochs: {}/20",
          "[epoch {}/20] step time 0.5 loss 3", "epoch {} | loss 0.5"}) {
      EXPECT_FALSE(parse_output_line(fmt::format(fmt::runtime(format), epoch))) << format;
    }
  }
}

TEST(OutputLine, EscapesAndRedrawnBarsArePlain) {
  EXPECT_EQ(plain_line("\x1b[1m 4/40\x1b[0m \x1b[?25lx"), " 4/40 x");
  EXPECT_EQ(plain_line("old\b\b\bnew"), "new");
  EXPECT_EQ(plain_line("a\x1b[1"), "a");
}

}  // namespace
}  // namespace fairlead
