#include "fairlead/compare/spread.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

// Returns the two-sided 95 % quantile of Student's t, from the usual table. Between its rows, the row with fewer
// degrees of freedom counts, which gives a wider interval.
double student_t(std::size_t degrees) {
  constexpr std::array kToThirty = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                    2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= kToThirty.size()) return kToThirty[degrees - 1];
  if (degrees < 40) return kToThirty.back();
  if (degrees < 60) return 2.021;
  return degrees < 120 ? 2.000 : 1.980;
}

// Returns the standard deviation of a sample. REQUIRES: two values or more.
double deviation_of(const std::vector<double>& values) {
  const double mean = range_of(values).mean;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (static_cast<double>(values.size()) - 1));
}

}  // namespace

Range range_of(const std::vector<double>& values) {
  FL_CHECK(!values.empty());
  const auto [min, max] = std::ranges::minmax(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), min, max};
}

MeanInterval mean_interval(const std::vector<double>& values) {
  const Range range = range_of(values);
  if (values.size() < kIntervalSeedsMin) return {range.mean, range.min, range.max, false};
  const double error = deviation_of(values) / std::sqrt(static_cast<double>(values.size()));
  const double margin = student_t(values.size() - 1) * error;
  return {range.mean, range.mean - margin, range.mean + margin, true};
}

double resampled_margin(const std::vector<double>& values) {
  FL_CHECK(values.size() > 1, "{} values", values.size());
  return student_t(values.size() - 1) * deviation_of(values);
}

}  // namespace fairlead
