// The progress of one run, and of several: a bar on a terminal.
#pragma once

#include "fairlead/compare/child_runs.h"
#include "fairlead/journal/journal.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// The fraction of the trace's jobs that are done, and the simulated time. A journal sink. Reads the
// clock once in a few thousand records, draws at most five times a second, and nothing in the first
// second; where standard error is not a terminal, nothing at all. As a child of run_children, it reports
// that fraction to the parent as often.
class ProgressLine : public RecordSink {
 public:
  ProgressLine();
  // Removes the bar.
  ~ProgressLine() override;
  void on(const Record& record) override;

 private:
  void draw(Time t);
  void report() const;

  using Clock = std::chrono::steady_clock;
  bool enabled_;
  int parent_;  // descriptor of kProgressVariable; -1: none
  bool drawn_ = false;
  Clock::time_point next_draw_;
  std::uint64_t records_ = 0;
  std::int64_t jobs_ = 0;
  std::int64_t done_ = 0;
};

// The progress of several runs.
struct RunsState {
  struct Running {
    std::string name;
    double elapsed_s = 0;
    double part_done = 0;  // 0: not known
  };
  std::size_t runs = 0;
  std::size_t done = 0;
  double elapsed_s = 0;
  double done_s = 0;         // sum of the lengths of the done runs
  std::size_t parallel = 1;  // runs at the same time
  std::vector<Running> running = {};
};

// Returns the time until the last run ends. A running one goes on as fast as it was; one that has not started takes as
// long as the mean of the others. None: nothing is known of any.
std::optional<double> left_s(const RunsState& state);

// "3 of 12 runs, 2 min, about 6 min left; now: fifo 40 %, las 7 %".
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
  struct Started {
    const ChildRun* child;
    std::chrono::steady_clock::time_point at;
  };
  void draw();
  void remove();

  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool drawn_ = false;
  std::string on_interrupt_;
  Clock::time_point begin_;
  Clock::time_point next_line_;
  RunsState state_;  // without `running`
  std::vector<Started> running_;
};

}  // namespace fairlead
