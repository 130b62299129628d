// The speed of a task, from the progress that one sensor reports (measure/sensors.h).
//
// Only the time in which the task ran counts: a task that is suspended every few seconds is measured over all its
// turns. Two lines give a speed once kMeterMin of running lies between them. Lines older than kMeterSpan are dropped,
// so that the speed covers the last minutes.
#pragma once

#include "fairlead/base/units.h"

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

constexpr Duration kMeterMin = seconds(5);
constexpr Duration kMeterSpan = seconds(300);

struct Progress {
  double done = 0;     // units, for example steps
  double total = 0;    // units of the whole job; 0: not reported
  std::string unit{};  // "steps"; empty: not reported, or not a short word
};
// Parses "1200 50000 steps", "1200 50000" or "1200". Words after these are ignored. Nullopt for any other line.
std::optional<Progress> parse_progress(std::string_view line);

class Meter {
 public:
  // Notes that the task works from `now` on; pause(): it stops.
  void run(Time now) { since_ = now; }
  void pause(Time now);
  // Adds a report of the task's progress.
  void told(Time now, const Progress& progress);

  // Returns units per second of running; nullopt: not known yet, or from less than `least` of running.
  std::optional<double> rate(Duration least = kMeterMin) const;
  const std::optional<Progress>& last() const { return last_; }

 private:
  struct Sample {
    Duration ran;
    double done = 0;
  };
  Duration ran(Time now) const { return since_ == Time::never() ? ran_ : ran_ + (now - since_); }

  Duration ran_;  // up to the last pause
  Time since_ = Time::never();
  std::optional<Sample> from_, middle_, to_;
  std::optional<Progress> last_;
};

}  // namespace fairlead
