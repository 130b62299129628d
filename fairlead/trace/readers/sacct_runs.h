<<<<<<< Updated upstream
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

// Reads what sacct --json writes: Slurm 21.08 and later.
Status read_slurm_json(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder);
=======
// Lists of resources in the output of Slurm: trackable resources (TRES) and generic resources (GRES).
#pragma once

#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// The GPUs in a list of trackable resources, for example "cpu=8,gres/gpu=8" or "gres/gpu:v100=4,gres/gpu:a100=4"; Slurm
// may write both, the sum and its parts.
struct SlurmGpus {
  std::int64_t all = 0;
  std::int64_t typed = 0;
  std::string_view type;   // if there is just one
  std::int64_t nodes = 0;  // "node=2"; 0: unknown
  CpuMemory other{};       // "cpu=16,mem=64G"
  bool bad = false;
  bool cut = false;  // the list ends before its end

  std::int64_t count() const { return all > 0 ? all : typed; }
  // Adds `amount` of the generic resource `name`: "gpu" or "gpu:v100"; others, such as "gpumem", do
  // not count.
  void add(std::string_view name, std::int64_t amount);
};

// Returns an amount of memory, "64G", "187.50G" or "4000M"; without a unit it is in MB. Not stated if it is none.
Thousandths slurm_memory(std::string_view text);

// Returns the GPUs of such a list.
SlurmGpus slurm_gpus(std::string_view resources);
// The same of a list of generic resources, as of AllocGRES or squeue: "gpu:a100:4", "gres/gpu:4", "gpu".
SlurmGpus slurm_gres(std::string_view resources);

// The two lists of a job: its request and its allocation; empty: unknown.
struct SlurmJobGpus {
  SlurmGpus requested;
  SlurmGpus allocated;
  bool has_requested = false;
  bool has_allocated = false;

  // Returns the CPUs and memory that the job asked for; an amount that is not in the request is the allocated one.
  CpuMemory asks() const;
  const SlurmGpus& either() const { return has_allocated ? allocated : requested; }
  // Returns the GPUs of each of its nodes, if all nodes have as many; 1 if not, or if that is unknown. REQUIRES:
  // either() has GPUs.
  std::int64_t task_gpus() const;
};
>>>>>>> Stashed changes

}  // namespace fairlead
