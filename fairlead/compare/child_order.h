// ChildOrder: the order in which runs start, so that no core waits long for the last of them.
//
// Runs of one kind take about as long. A kind of which no run has ended yet comes first, so that its length is known
// soon. Then the kind with the longest run comes first, and short runs fill the end: longest processing time first
// (Graham 1969).
//
// next: O(kinds). ended: O(1).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

class ChildOrder {
 public:
  // The kind of each run: small numbers.
  explicit ChildOrder(std::span<const std::size_t> kinds);

  // Returns the row of the run to start, the first of its kind; none: all were started.
  std::optional<std::size_t> next();
  // Takes note of the length of a run that ended, in seconds. REQUIRES: it was started.
  void ended(std::size_t row, double length_s);

 private:
  struct Kind {
    std::vector<std::size_t> rows;
    std::size_t started = 0;
    double longest_s = 0;  // length of its longest run
    bool has_ended = false;
  };
  static bool is_before(const Kind& a, const Kind& b);

  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by row
};

}  // namespace fairlead
