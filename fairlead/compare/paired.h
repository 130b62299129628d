// Figures over seeds: their mean and range, and the difference between two policies under the same
// seeds.
#pragma once

#include <vector>

namespace fairlead {

struct Range {
  double mean = 0;
  double min = 0;
  double max = 0;
};
// REQUIRES: values is not empty.
Range range_of(const std::vector<double>& values);

// The mean of differences between runs with the same seed, and its confidence interval.
struct PairedDifference {
  double mean = 0;
  double low = 0;
  double high = 0;
  // True: low..high is the 95 % interval of the mean by Student's t, for independent seeds. False:
  // there are too few seeds, and it is their range.
  bool is_interval = false;
};
constexpr std::size_t kIntervalSeedsMin = 3;

// REQUIRES: differences is not empty. O(differences).
PairedDifference paired_difference(const std::vector<double>& differences);

// Returns the half-width of the 95 % interval around a figure of a trace, from the values of the figure in resamples of
// the trace: their standard deviation times Student's t (Efron and Tibshirani 1993, ch. 12). Resamples spread like the
// figure itself, so more of them do not make the interval narrower. REQUIRES: two values or more.
double resampled_margin(const std::vector<double>& values);

}  // namespace fairlead
