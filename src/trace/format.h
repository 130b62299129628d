// The trace formats that can be read, by name and by content.
#pragma once

#include "fairlead/model/workload.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead {

enum class TraceFormat : std::uint8_t {
  kNative,      // ours: job,user,model,gpus,submit_s,duration_s
  kTiresias,    // the Tiresias simulator's CSV
  kGavel,       // Gavel's and Shockwave's TSV
  kPhilly,      // Microsoft Philly's cluster_job_log (JSON)
  kHelios,      // SenseTime Helios's cluster_log.csv
  kAcme,        // Shanghai AI Laboratory Acme's trace_seren.csv and trace_kalos.csv
  kPai,         // Alibaba PAI 2020's pai_task_table.csv (no header)
  kOpenb,       // Alibaba openb 2023's pod lists
  kSacct,       // Slurm's sacct --parsable2
  kNormalized,  // job_id,tenant,submit_s,num_gpus,duration_s
};
constexpr std::size_t kTraceFormats = 10;

// "native", "tiresias", ...
std::string_view format_name(TraceFormat format);
std::optional<TraceFormat> format_named(std::string_view name);
// All names, separated by '|', for messages.
std::string_view format_names();

// The format of a file that begins with `head` (a few kilobytes, decompressed), if it can be told.
std::optional<TraceFormat> format_of(std::string_view head);

// Strict for the native format, lenient for public ones.
Reading default_reading(TraceFormat format);

}  // namespace fairlead
