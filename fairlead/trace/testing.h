// Helpers for the tests of the readers: workloads as lines of text, and texts read as traces.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/trace/trace.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::testing {

// Returns "id user model gpus submit_ms duration_ms" per job, with "-" for no model. If known, "gpus_min..gpus_max",
// the reference type, the log's fields ("limit=60000 start=5000"), "on a100+v100" and "cpus=4 memory_gb=16" follow.
inline std::vector<std::string> jobs_of(const Workload& workload) {
  std::vector<std::string> lines;
  const Jobs& jobs = workload.jobs;
  for (const JobId job : ids<JobId>(jobs.size())) {
    const ModelId model = jobs.model[job];
    std::string line =
        fmt::format("{} {} {} {} {} {}", workload.names[job], workload.users.names[jobs.user[job]],
                    model.is_none() ? "-" : workload.models[model], jobs.gpus[job],
                    jobs.arrival[job].ms, workload.durations[job].ms);
    if (jobs.gpus_min[job] != jobs.gpus[job] || jobs.gpus_max[job] != jobs.gpus[job])
      line += fmt::format(" {}..{}", jobs.gpus_min[job], jobs.gpus_max[job]);
    if (!workload.reference_types[job].empty()) line += " " + workload.reference_types[job];
    const Logged logged = jobs.logged_of(job);
    if (logged.time_limit.ms > 0) line += fmt::format(" limit={}", logged.time_limit.ms);
    if (logged.priority != 0) line += fmt::format(" priority={}", logged.priority);
    if (!jobs.partition_of(job).is_none())
      line += fmt::format(" partition={}", jobs.partition_name(job));
    if (logged.start != Time::never()) line += fmt::format(" start={}", logged.start.ms);
    if (const auto types = workload.runs_on.find(job); types != workload.runs_on.end())
      line += " on " + types->second;
    const CpuMemory asks = workload.asks_of(job);
    const auto text_of = [](Thousandths one) { return static_cast<double>(one.value) / 1000; };
    if (asks.cpus.value > 0) line += fmt::format(" cpus={}", text_of(asks.cpus));
    if (asks.memory_gb.value > 0) line += fmt::format(" memory_gb={}", text_of(asks.memory_gb));
    for (const auto& [key, label] : {std::pair("qos", workload.qos.name(job)),
                                     std::pair("account", workload.accounts.name(job))})
      if (!label.empty()) line += fmt::format(" {}={}", key, label);
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;
using Counts = std::map<std::string, std::int64_t, std::less<>>;

// Reads `text` as the file "t" and checks that every row is accounted for.
inline Result<Workload> read_text(std::string_view text, const ReadOptions& options) {
  FL_TRY_ASSIGN(source, ByteSource::memory(text, "t"));
  FL_TRY_ASSIGN(workload, read_trace(source, options));
  const auto jobs = static_cast<std::int64_t>(workload.jobs.size());
  FL_CHECK(workload.rows.rows_read == jobs + workload.rows.rejected());
  return workload;
}

// The message of the error that reading `text` gives; "" if it gives none.
inline std::string error_of(std::string_view text, const ReadOptions& options) {
  const auto workload = read_text(text, options);
  return workload ? "" : workload.error().message;
}

}  // namespace fairlead::testing
