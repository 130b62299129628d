// Why the jobs of a finished run waited, from its journal.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/replay/wait_totals.h"
#include "fairlead/replay/waits.h"
#include "fairlead/report/report_data.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// The waits of one job, and the facts of the run that explain them.
struct JobWhy {
  std::unique_ptr<TaskLimits> limits;  // the run's limits on tasks, which `waits` refers to
  std::unique_ptr<Waits> waits;        // waits of this job alone
  JobId job;                           // none: it never waited, for the reason in `instead`
  std::string instead;                 // "rejected: needs 9 GPUs", empty
  std::string status;                  // "finished", "failed", "pending"
  Time submit;
  Time end;  // the job's end, or the run's end
  // Time 0 of the trace, in ms since 1970, by the summary beside the journal; none: the trace has no calendar.
  std::optional<std::int64_t> calendar_start_ms;
  Duration waited;
  Duration run_time;
};

// `recorded`: a result folder, or the journal in it. `traits`: of a policy outside the registry
// (Policy::traits). Errors: it is damaged, or has no such job.
Result<JobWhy> why_job(const std::string& recorded, const std::string& name,
                       std::optional<PlacementTraits> traits = {});

// The causes of all waits of a run.
struct RunWhy {
  std::unique_ptr<TaskLimits> limits;  // the run's limits on tasks, which `waits` refers to
  std::unique_ptr<Waits> waits;
  WaitTotals totals;
  // One in so many jobs was examined; 1, all jobs, if that is cheap enough.
  std::size_t one_in = 1;
  CauseTimes causes;
  std::vector<JobId> longest;  // jobs that waited most
  // Jobs that waited more than kStarved times their work, sorted by that ratio. Work counts as kLeastWork
  // at least.
  std::vector<JobId> starved;
  std::int64_t starved_jobs = 0;  // number of all such jobs, not only of the listed ones
  // Returns the causes of a listed job's waits.
  const CauseTimes& causes_of(JobId job) const;
};
constexpr double kStarved = 10;
constexpr Duration kLeastWork = {60'000};
// Returns how many times its work a job waited. REQUIRES: its work is known.
double times_waited(const WaitTotals::Job& job);

struct RunWhyLimits {
  std::size_t rows = 10;                  // maximum rows of each list
  std::int64_t job_moments = 50'000'000;  // beyond that, fewer jobs are looked at
};
// `traits`: as above. Errors: the journal is damaged. Reads it twice.
Result<RunWhy> why_run(const std::string& recorded, const RunWhyLimits& limits = {},
                       std::optional<PlacementTraits> traits = {});

// For a report: of the jobs that waited most, at most `jobs`, their longest waits, in pieces of them.
// `totals`: of the run. Errors: as why_run.
Result<ReportedWaits> waits_to_report(const std::string& recorded, const WaitTotals& totals,
                                      std::size_t jobs);

}  // namespace fairlead
