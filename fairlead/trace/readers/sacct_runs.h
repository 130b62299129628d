// The common parts of the two forms of Slurm's sacct, tables and JSON: which rows are runs, their names and places.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/model/workload.h"
#include "fairlead/slurm/resources.h"
#include "fairlead/trace/trace.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlead {

constexpr std::string_view kSlurmRequeued = "REQUEUED";

// Returns the reason to leave the row of a job out of a trace; empty: it is one.
//   - A job that was cancelled while it waited never ran, so its duration is unknown. If nothing shows whether it
//     wanted GPUs, it counts as if it did.
//   - REQUEUED is the end of a run. The next run has a row of its own, with the same id and a new submission.
std::string_view slurm_no_job(std::string_view state, const SlurmJobGpus& gpus, Duration elapsed);

// Returns JobRow::runs_on of a job.
std::string slurm_runs_on(const ReadOptions& options, const SlurmJobGpus& gpus,
                          std::string_view partition, std::string_view features);

// Names the runs of jobs: each row of an id is a run of its own, because a job that is requeued has a row for each.
class SlurmRuns {
 public:
  // Returns the id for the first run, and id#2, id#3, ... for the others, with the note for JobRow::repaired. The
  // result is valid until the next call.
  std::string_view name(std::string_view id, std::string_view& repaired);

 private:
  std::unordered_map<std::string, int> runs_;
  std::string named_;
};

}  // namespace fairlead
