#include "fairlead/measure/speed_reports.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

// Chosen: the change of a speed that is worth a record, and the limit of speed / reference speed.
constexpr double kStep = 0.05;
constexpr double kSpeedMax = 1000;

}  // namespace

bool is_news(double speed, double reported) {
  return reported <= 0 || std::abs(speed / reported - 1) >= kStep;
}

double plausible(double speed) { return std::min(speed, kSpeedMax); }

std::optional<Duration> time_left(const Progress& progress, double unit_per_s, double speed) {
  if (progress.total <= progress.done || unit_per_s <= 0) return std::nullopt;
  const double left_s = std::min((progress.total - progress.done) / unit_per_s * speed, 1e9);
  return Duration{std::max<std::int64_t>(1, std::llround(left_s * 1000))};
}

}  // namespace fairlead
