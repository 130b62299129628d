// Progress in a line that a training program prints anyway.
//
// Each format is the one of a known program. A line that only resembles it is ignored: a wrong speed is worse than none.
// tests/data/output/progress.tsv has lines of each program with their source, and lines that are ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

struct PrintedStep {
  std::string_view format;  // "tqdm", "keras" and the like; static
  double done = 0;          // steps
  double total = 0;         // steps after which the count ends; 0: not printed
  double step_per_s = 0;    // as the program prints it; 0: not printed
  bool is_epoch = false;  // the count begins again with each epoch, so `total` is not the job's end
  friend bool operator==(const PrintedStep&, const PrintedStep&) = default;
};

// Parses a line without escape sequences (plain_line). Nullopt: it is not the progress of a training. Costs O(length).
std::optional<PrintedStep> parse_output_line(std::string_view line);

// Returns the text as a terminal would show it: without ANSI escape sequences and control characters.
std::string plain_line(std::string_view line);

}  // namespace fairlead
