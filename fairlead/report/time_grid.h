// Equal bins of time for a picture of a run, and sums over them.
//
// The bins start at the origin. Their width is the smallest power of two of seconds at which `bins_max` of them reach
// the end.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class TimeGrid {
 public:
  // REQUIRES: origin <= end, bins_max >= 1.
  TimeGrid(Time origin, Time end, std::int64_t bins_max = 512);

  Duration width() const { return width_; }
  std::size_t bins() const { return bins_; }
  // Adds `amount`, spread evenly over from..to, to its bins; the part outside of them is left out. REQUIRES: from < to,
  // amounts has a row per bin. O(bins touched).
  void spread(std::vector<double>& amounts, Time from, Time to, double amount) const;
  // Divides each amount by the time of its bin up to the end.
  void divide_by_time(std::vector<double>& amounts) const;

 private:
  Time origin_;
  Time end_;
  Duration width_;
  std::size_t bins_;
};

// The integral of a number over time, in bins that double their width when there would be more than kBinsMax of them,
// so that the end need not be known. Bins are 1 s wide at first.
class DoublingBins {
 public:
  static constexpr std::int64_t kBinsMax = 512;

  // Notes that the number was `value` from `from` to `to`. REQUIRES: from < to, both not before `origin`.
  void add(Time from, Time to, std::int64_t value);
  // Sets the start of the first bin. REQUIRES: nothing was added.
  void begin(Time origin) { origin_ = origin; }
  // Adds the integral, in units of the number times milliseconds.
  void spread_to(const TimeGrid& grid, std::vector<double>& amounts) const;

 private:
  void coarsen();

  Time origin_;
  Time last_;  // the end of the last time with a number other than 0
  Duration width_ = seconds(1);
  std::vector<double> integrals_;
};

// The same of a number that changes by steps. Time before begin() is not counted.
class DoublingLevel {
 public:
  // Starts the first bin. REQUIRES: no time was counted.
  void begin(Time origin);
  // Adds to the number, from `t` on.
  void add(Time t, std::int64_t change);
  // Counts the number up to `t`.
  void settle(Time t);
  const DoublingBins& bins() const { return bins_; }

 private:
  DoublingBins bins_;
  bool has_begun_ = false;
  Time since_;
  std::int64_t value_ = 0;  // since then
};

}  // namespace fairlead
