// KnownWork: a policy's knowledge of the remaining work of jobs. Every estimate has its source. The weakest source is a
// guess from the work that the job has done.
//
// The work done is known in every world: it follows from the rates of the job's runs, after their overheads. The
// remaining work has four sources: exact knowledge (a simulator), the job's own reports, the declared duration, and the
// finished jobs of the same user and model (work_history.h).
//
// The guess: as much again as the job has done, at least kGuessMin. Durations have heavy tails. If P(more than x) falls
// as x^-a, half of the jobs that have done d do at least d * (2^(1/a) - 1) more. This is the median of a Pareto tail
// beyond d, and equals d for a = 1. Running times of processes have that tail (Harchol-Balter and Downey, TOCS 1997,
// who choose processes to migrate by their age). The minimum is the guess's only scale, and matters only among jobs
// that have hardly run.
//
// If one source has no estimate, or the job has outlived it, the next weaker source is used. Otherwise a job that
// outlives its declared duration would seem about to end, and would be first for ever. The guess comes last; it grows
// with the work done.
//
// O(1) per call; with the history, O(log users x models). Memory: 48 bytes per job; 8 if the work is known exactly;
// none for policies that need no knowledge of work.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/knowledge.h"

#include <cstdint>
#include <memory>

namespace fairlead {

struct Jobs;
class WorkHistory;

// Exact knowledge of work, which only a simulator has.
class ExactWork {
 public:
  virtual ~ExactWork() = default;
  // Returns the remaining running time on the job's reference gang, rounded up; at least 1 ms until the job finishes.
  virtual Duration remaining(JobId job) const = 0;
};

struct WorkLeft {
  Duration left;  // running time on the job's reference gang, at least 1 ms
  WorkSource source = WorkSource::kNone;
  Duration age;  // age of the estimate; zero: current
};

struct WorkOptions {
  WorkSource source = WorkSource::kExact;  // the best source that policies get
  // The error of declared work: the standard deviation of the logarithm of a factor with median 1, drawn for each job.
  double error = 0;
  std::uint64_t seed = 0;  // seed of the error
};

class KnownWork {
 public:
  static constexpr Duration kGuessMin = seconds(60);  // chosen

  // `exact`: null if the future is not known. `best`: the best source that the policy needs. With kNone no rows are
  // kept, and every estimate is the smallest guess. `jobs` and `exact` must outlive this object.
  KnownWork(const Jobs& jobs, const ExactWork* exact, WorkSource best, const WorkOptions& options);
  ~KnownWork();

  // Returns true if the remaining work of all jobs is known exactly.
  bool is_exact() const { return exact_ != nullptr; }
  WorkLeft left(JobId job) const;
  Duration remaining(JobId job) const {
    return exact_ != nullptr ? exact_->remaining(job) : left(job).left;
  }
  // Returns the estimate of the job's whole work: done and left.
  Duration total(JobId job) const { return done(job) + remaining(job); }
  Duration done(JobId job) const;

  // Called by the engine: the clock, and the events of jobs at the clock's time.
  void set_now(Time now) { now_ = now; }
  // `declared`: running time on the job's reference gang; zero: not declared.
  void on_arrived(JobId job, Duration declared);
  // `done`: running time on the job's reference gang before its arrival here.
  void on_carried(JobId job, Duration done);
  // Called when the job gets a gang, which is idle for the first `overhead`. Rate 0 means unknown and counts as the
  // rate of the reference gang. Called once for each copy: rates add up, and all copies start with the last.
  void on_run_begin(JobId job, Rate rate, Duration overhead);
  void on_rate(JobId job, Rate rate);
  // `lost`: running time at the end of the job's run whose work is lost, at the run's last rate.
  void on_run_end(JobId job, Duration lost = {});
  // REQUIRES: on_run_end() was called for the job's last run.
  void on_finished(JobId job);
  // Called when the job reports its remaining work. The report replaces all earlier knowledge except exact knowledge.
  void on_report(JobId job, Duration left);

 private:
  struct Row {
    Work done;                         // done before `from`
    Time from = Time::never();         // start of uncounted work; never: the job has no gang
    Rate rate;                         // since `from`
    Duration stated;                   // the whole work, as declared or reported; zero: unknown
    Time reported_at = Time::never();  // never: no report
  };
  Row row(JobId job) const { return rows_.has(job) ? rows_[job] : Row{}; }
  Work work_done(const Row& row) const;
  Duration with_error(JobId job, Duration declared) const;

  const Jobs& jobs_;
  const ExactWork* exact_;  // null unless kExact is the source
  const bool keeps_rows_;
  WorkOptions options_;
  Time now_;
  IdVector<JobId, Row> rows_;
  IdVector<JobId, Duration> totals_;  // replaces rows_ if the work is known exactly
  std::unique_ptr<WorkHistory> history_;
};

}  // namespace fairlead
