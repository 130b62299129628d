// Reading traces: the one entry point for all formats.
//
//   auto workload = read_trace("jobs.csv.gz", {});
//   auto workload = read_trace("trace.tsv", {.format = TraceFormat::kGavel});
//
// Files may be compressed with gzip or zstd; "-" is standard input. Every row read is accounted for
// in Workload::rows. Bad rows are errors with file, line and column in strict reading, and counted
// by reason in lenient reading. A file that cannot be read at all (no such column, damaged
// compression, broken JSON) is an error in both. O(bytes) time; memory for the jobs only.
//
// What each format means here:
//
//   native      job,user,model,gpus,submit_s,duration_s and optional gpus_min, gpus_max, tickets,
//               gpu_type; iterations is accepted and ignored. job, gpus, submit_s and duration_s
//               are required. In strict reading an unknown column is an error.
//   normalized  job_id, user or tenant or qos_class, submit_s, num_gpus or num_gpu, duration_s.
//               With gpu_milli, a fraction of a GPU becomes a whole one, counted as repaired.
//   tiresias    job_id,num_gpu,submit_time,iterations,model_name,duration,interval.
//   gavel       Gavel's 10 columns carry training steps: duration = steps / the job type's
//               published steps per second on as many V100 GPUs, the reference type. Jobs are
//               numbered from 0, as Gavel does. Shockwave's 12 columns carry the duration. A gang
//               size that the table lacks scales linearly from the next smaller one and is counted
//               as repaired (Workload::rows.rows_mended).
//   philly      cluster_job_log. GPUs: those of the last attempt with any. Duration: the sum of the
//               attempts that have both times, of whatever status. Times are US Pacific local time
//               (civil_time.h); an attempt that seems to end before it began, within the hour that
//               occurs twice, ended in its second pass.
//   helios      cluster_log.csv. Times have no zone and are taken as UTC.
//   acme        trace_seren.csv, trace_kalos.csv.
//   pai         pai_task_table.csv, without header. Each task row is a gang of inst_num instances
//               with plan_gpu percent of a GPU each, rounded up. Submission: start_time, the only
//               time before the end that the table has.
//   openb       pod lists: name, num_gpu, gpu_milli, qos, creation_time, deletion_time,
//               scheduled_time. Duration: deletion - scheduled_time, or - creation_time.
//   sacct       --parsable2 output with at least JobID, Submit, ElapsedRaw and AllocTRES or
//               ReqTRES. Steps (ids with a dot) are not jobs. Times have no zone and are taken as
//               UTC. A job counts with the time that it ran, however it ended; State is not read,
//               so leave out jobs that still run (sacct --state). Elapsed 0: never started.
//
// Rows without GPUs are counted as "no GPU". A duration of 0 is a bad row, but in sacct. Philly,
// Helios, Acme, PAI and sacct tell calendar times: there the earliest submission becomes time 0.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/format.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// Training steps per second of a Gavel job type, such as "ResNet-50 (batch size 64)", on `gpus`
// V100 GPUs of one node; 0 if not known.
using StepsPerSecond = std::function<double(std::string_view job_type, std::int64_t gpus)>;

// Gavel's measured throughputs as published: single GPUs of 26 job types and some gangs.
double published_steps_per_second(std::string_view job_type, std::int64_t gpus);

struct ReadOptions {
  std::optional<TraceFormat> format{};                           // none: recognised by content
  std::optional<Reading> reading{};                              // none: default_reading(format)
  StepsPerSecond steps_per_second = published_steps_per_second;  // of Gavel's 10 columns
};

// Reads the file at `path`; the workload's name is the file's.
Result<Workload> read_trace(const std::string& path, const ReadOptions& options);
// Reads `source`; the workload's name is the source's.
Result<Workload> read_trace(ByteSource& source, const ReadOptions& options);

}  // namespace fairlead
