// The speed of a task from the lines that its programs print anyway (measure/output_line.h).
//
// A program may print several counts: of a download, of each epoch, of a validation. Each is a series, and the series
// that has made steps for the longest running time counts. A count that begins again continues its series.
#pragma once

#include "fairlead/measure/meter.h"
#include "fairlead/measure/output_line.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Lines are read every few seconds, so times of lines are that inexact; a speed is from at least so much running.
constexpr Duration kOutputMin = seconds(30);

class OutputMeter {
 public:
  void run(Time now);
  void pause(Time now);
  // Reads the complete lines of a part of the output, which begins at `begin`.
  void read(Time now, std::uint64_t begin, std::string_view text);
  // Returns the byte of the output from which the next part is needed. At first, that is its end: output from before
  // the task is of no interest.
  std::uint64_t next() const { return next_; }

  // Returns the steps of the series that counts; nullopt: there is none yet. The total is of the whole job, or 0.
  std::optional<Progress> last() const;
  // Returns its steps per second of running: as measured, or as the program prints them.
  std::optional<double> rate() const;

 private:
  struct Series {
    PrintedStep step;           // the last one
    double before = 0;          // steps before the count began again
    bool is_new = false;        // a step was read that the meter has not got
    bool begins_again = false;  // so its total is not the job's end
    Duration ran{};             // from its first step to its last one
    Duration age{};             // from its first step until now
    Duration from{};            // running time of the task at its first step
    Meter meter{};
  };

  void take(const PrintedStep& step);
  Series& series_of(const PrintedStep& step);
  const Series* counting() const;
  Duration ran(Time now) const { return since_ == Time::never() ? ran_ : ran_ + (now - since_); }

  std::vector<Series> all_;
  std::uint64_t next_ = std::numeric_limits<std::uint64_t>::max();
  Duration ran_{};  // up to the last pause
  Time since_ = Time::never();
};

}  // namespace fairlead
