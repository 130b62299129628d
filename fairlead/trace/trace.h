// Reading traces: the one entry point for all formats.
//
//   auto workload = read_trace("jobs.csv.gz", {});
//   auto workload = read_trace("trace.tsv", {.format = find_format("gavel")});
//
// Files may be compressed with gzip or zstd; "-" is standard input. Every row read is accounted for
// in Workload::rows. Bad rows are errors with file, line and column in strict reading, and counted
// by reason in lenient reading. A file that cannot be read at all (no such column, damaged
// compression, broken JSON) is an error in both. O(bytes) time; memory for the jobs only.
//
// The top of each reader in trace/readers describes the meaning of its format.
//
// Rows without GPUs are counted as "no GPU". A duration of 0 is a bad row, unless a format means
// something by it. If a format has calendar times, the earliest submission becomes time 0.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/model/workload.h"
#include "fairlead/slurm/places.h"
#include "fairlead/trace/format.h"
#include "fairlead/trace/select.h"
#include "fairlead/trace/table.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns Gavel's measured throughputs as published: single GPUs of 26 job types and some gangs.
double published_steps_per_second(std::string_view job_type, std::int64_t gpus);
// Returns the speeds in the table of models `models` (load_models), which must be in steps per second, on V100: a gang
// has the same rate per GPU as in a simulation. Models that it lacks, and an empty `models`, get published speeds.
// Errors: the table cannot be read.
Result<StepsPerSecond> steps_per_second_of(const std::string& models);

struct ReadOptions {
  const TraceFormat* format = nullptr;                           // null: recognised by content
  std::optional<Reading> reading{};                              // none: the format's default
  Tasks tasks = Tasks::kOfOneGpu;                                // size of tasks in foreign formats
  StepsPerSecond steps_per_second = published_steps_per_second;  // speeds for Gavel's 10 columns
  TableOptions table{};                                          // options of the format "table"
  UtcOffsets utc_offsets{};  // for Slurm's times, which have no zone; none: UTC
  // JobRow::runs_on of a Slurm job; none: the GPU type that it asked for.
  std::function<std::string(const SlurmAsked&)> slurm_runs_on{};
  std::vector<RowCondition> where{};  // conditions on the rows that are read
  Selection selection{};              // selection among the jobs of those rows
};

// Reads the file at `path`; the workload's name is the file's.
Result<Workload> read_trace(const std::string& path, const ReadOptions& options);
// Reads `source`; the workload's name is the source's.
Result<Workload> read_trace(ByteSource& source, const ReadOptions& options);

}  // namespace fairlead
