// The progress of one run, and of several: a bar on a terminal.
#pragma once

#include "fairlead/compare/child_runs.h"
#include "fairlead/journal/journal.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// The fraction of the trace's jobs that are done, and the simulated time. A journal sink. Reads the
// clock once in a few thousand records, draws at most five times a second, and nothing in the first
// second; where standard error is not a terminal, nothing at all.
class ProgressLine : public RecordSink {
 public:
  ProgressLine();
  // Removes the bar.
  ~ProgressLine() override;
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

// The progress of several runs.
struct RunsState {
  std::size_t runs = 0;
  std::size_t done = 0;
  double elapsed_s = 0;
  std::vector<std::string> running = {};  // names
};

// "3 of 12 runs, 2 min, about 6 min left; now: fifo, las". The estimate assumes that the remaining
// runs take as long as those done.
std::string runs_text(const RunsState& state);

// Shows runs_text on standard error: as a bar on a terminal, redrawn about twice a second;
// else as a line at the end of a run, but not more often than every ten seconds.
class RunsProgress : public ChildObserver {
 public:
  // `runs`: the total number; `on_interrupt`: text about the state after an interruption and how to resume.
  RunsProgress(std::size_t runs, std::string on_interrupt);
  // Removes the bar.
  ~RunsProgress() override;
  RunsProgress(const RunsProgress&) = delete;
  RunsProgress& operator=(const RunsProgress&) = delete;

  void started(const ChildRun& child) override;
  void ended(const ChildRun& child) override;
  void waiting() override;
  void interrupted() override;

 private:
  void draw();
  void remove();

  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool drawn_ = false;
  std::string on_interrupt_;
  Clock::time_point begin_;
  Clock::time_point next_line_;
  RunsState state_;
};

}  // namespace fairlead
