// Quantiles of very many relative errors in little memory: counts in bins of half a thousandth. Ours.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fairlead {

class ErrorQuantiles {
 public:
  // REQUIRES: error >= 0. O(1).
  void add(double error) {
    ++count_;
    const double bin = std::ceil(error / kWidth);
    ++bins_[static_cast<std::size_t>(std::min(bin, static_cast<double>(kBins - 1)))];
  }

  // Returns an error that at most a fraction 1 - `part` of all exceed. It is at most half a thousandth above the least
  // such error; errors above 200 % count as 200 %. 0 if there are none. O(bins).
  double at(double part) const {
    const double wanted = part * static_cast<double>(count_);
    std::int64_t below = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      below += bins_[bin];
      if (static_cast<double>(below) >= wanted) return static_cast<double>(bin) * kWidth;
    }
    return static_cast<double>(kBins - 1) * kWidth;
  }

 private:
  static constexpr double kWidth = 0.0005;
  static constexpr std::size_t kBins = 4001;

  std::int64_t count_ = 0;
  std::array<std::int64_t, kBins> bins_{};  // bin i: errors in (i - 1, i] widths
};

}  // namespace fairlead
