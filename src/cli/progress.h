// A progress bar on a terminal: the share of the trace's jobs that are done, and the simulated
// time.
#pragma once

#include "model/journal.h"

#include <chrono>
#include <cstdint>

namespace fairlead {

// A journal sink. Looks at the clock once in a few thousand records, draws at most five times a
// second, and nothing in the first second; where standard error is not a terminal, nothing at all.
class Progress : public RecordSink {
 public:
  Progress();
  // Removes the bar.
  ~Progress() override;
  void on(const Record& record) override;

 private:
  void draw(Time t);

  using Clock = std::chrono::steady_clock;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point next_draw_;
  std::uint64_t records_ = 0;
  std::int64_t jobs_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace fairlead
