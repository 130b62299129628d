// KnownWork: what a policy may know of how much work jobs have left. It can always ask, and is told
// where the answer comes from, down to a guess from nothing but what the job has done.
//
// What a job has done is known in every world: the rates of its holds, from the end of their
// overheads. What it has left is not. A world knows it exactly (a simulator), or the job has
// declared how long it takes, or reports of itself how far it is, or the jobs of its user and model
// that have ended tell (work_history.h).
//
// The guess: as much again as the job has done, at least kGuessMin. Durations have heavy tails:
// where P(more than x) falls as x^-a, half of the jobs that have done d do d * (2^(1/a) - 1) more
// (the median of a Pareto tail beyond d), which is d for a = 1. Running times of processes were
// found to have that tail (Harchol-Balter and Downey, TOCS 1997, who choose by age which processes
// to move). It has no scale but the minimum, which only decides among jobs that have hardly run.
//
// Where one source has no answer, or the job has done all that it says, the next lower one has. So a
// job that outlives what was declared is not taken for one about to end, which would make it first
// for ever: it is estimated anew, at last by the guess, which grows with what it does.
//
// O(1) per call; with the history, O(log users x models). Memory: 48 bytes per job, 8 where the work
// is known exactly, none for policies that ask for nothing.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/knowledge.h"

#include <cstdint>
#include <memory>

namespace fairlead {

struct Jobs;
class WorkHistory;

// What only a simulator can know.
class ExactWork {
 public:
  virtual ~ExactWork() = default;
  // Running time left on the job's reference gang, rounded up; at least 1 ms until it finishes.
  virtual Duration remaining(JobId job) const = 0;
};

struct WorkLeft {
  Duration left;  // running time on the job's reference gang, at least 1 ms
  WorkSource source = WorkSource::kNone;
  Duration age;  // since it was said; zero where it is as of now
};

struct WorkOptions {
  WorkSource source = WorkSource::kExact;  // the best that policies are told
  // Of what is declared: the standard deviation of the logarithm of a factor with median 1, drawn
  // for each job.
  double error = 0;
  std::uint64_t seed = 0;  // of the error
};

class KnownWork {
 public:
  static constexpr Duration kGuessMin = seconds(60);  // chosen

  // `exact`: null where the future is not known. `best`: the best that the policy asks for; if none,
  // nothing is kept for it, and all that it is told is the least guess. What is passed must outlive
  // it.
  KnownWork(const Jobs& jobs, const ExactWork* exact, WorkSource best, const WorkOptions& options);
  ~KnownWork();

  WorkLeft left(JobId job) const;
  Duration remaining(JobId job) const {
    return exact_ != nullptr ? exact_->remaining(job) : left(job).left;
  }
  // All of its work, as far as is known now: done and left.
  Duration total(JobId job) const { return done(job) + remaining(job); }
  Duration done(JobId job) const;

  // The engine's side: the clock, and what happens to jobs. Times are those of the clock.
  void set_now(Time now) { now_ = now; }
  // `declared`: running time on its reference gang; zero: none.
  void on_arrived(JobId job, Duration declared);
  // It has done that much before it was known here: running time on its reference gang.
  void on_carried(JobId job, Duration done);
  // The job holds a gang from now on, idle for the first `overhead`; rate 0: not known, so taken
  // for that of the reference gang. Once for each copy: rates add up, and all begin with the last.
  void on_hold(JobId job, Rate rate, Duration overhead);
  void on_rate(JobId job, Rate rate);
  // `lost`: running time at the end of the hold whose work is lost, taken at its last rate.
  void on_hold_end(JobId job, Duration lost = {});
  // REQUIRES: after the end of its hold.
  void on_finished(JobId job);
  // The job says how much it has left; it counts from now on, whatever was known before, unless
  // that is exact.
  void on_report(JobId job, Duration left);

 private:
  struct Row {
    Work done;                         // up to `from`
    Time from = Time::never();         // its work counts from here; never: it holds nothing
    Rate rate;                         // since `from`
    Duration stated;                   // all of its work, as declared or reported; zero: not
    Time reported_at = Time::never();  // never: not
  };
  Row row(JobId job) const { return rows_.has(job) ? rows_[job] : Row{}; }
  Work work_done(const Row& row) const;
  Duration with_error(JobId job, Duration declared) const;

  const Jobs& jobs_;
  const ExactWork* exact_;  // null unless that is the source
  const bool keeps_rows_;
  WorkOptions options_;
  Time now_;
  IdVector<JobId, Row> rows_;
  IdVector<JobId, Duration> totals_;  // only where the work is known exactly, instead
  std::unique_ptr<WorkHistory> history_;
};

}  // namespace fairlead
