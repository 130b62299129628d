// The spread of a figure: its range and the interval of its mean over seeds, and its margin over resamples of a trace.
//
// Two policies are compared by the differences or the ratios of their figures under the same seeds.
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

// A mean over seeds, and its confidence interval.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  // True: low..high is the 95 % interval of the mean by Student's t, for independent seeds. False:
  // there are too few seeds, and it is their range.
  bool is_interval = false;
};
constexpr std::size_t kIntervalSeedsMin = 3;

// REQUIRES: values is not empty. O(values).
MeanInterval mean_interval(const std::vector<double>& values);

// Returns the half-width of the 95 % interval around a figure of a trace, from the values of the figure in resamples of
// the trace: their standard deviation times Student's t (Efron and Tibshirani 1993, ch. 12). Resamples spread like the
// figure itself, so more of them do not make the interval narrower. REQUIRES: two values or more.
double resampled_margin(const std::vector<double>& values);

}  // namespace fairlead
