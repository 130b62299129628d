// ChildOrder: the order in which runs start, so that no core waits long for the last of them.
//
// Runs of one kind take about as long. The kind with the longest runs so far comes first, and a kind of which no run
// has started comes before it. So each kind is measured, and short runs are left to fill the end.
//
// next, ended: O(kinds). Longest processing time first (Graham 1969).
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

  // Starts a run and returns its row; the first of its kind. None: all were started. `now_s`: any clock that does not
  // go back.
  std::optional<std::size_t> next(double now_s);
  // Takes note of the end of a run. REQUIRES: it was started.
  void ended(std::size_t row, double now_s);

 private:
  struct Kind {
    std::vector<std::size_t> rows;
    std::size_t started = 0;
    double longest_s = 0;  // of the runs that ended
    double first_start_s = 0;
    bool has_ended = false;
  };
  // Returns how long a run of the kind takes, as far as is known.
  static double length_s(const Kind& kind, double now_s);

  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by row
  std::vector<double> start_s_;       // by row
};

}  // namespace fairlead
