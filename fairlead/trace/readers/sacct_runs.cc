#include "fairlead/trace/readers/sacct_runs.h"

#include "fairlead/trace/states.h"

#include <fmt/format.h>

namespace fairlead {

std::string_view slurm_no_job(std::string_view state, const SlurmJobGpus& gpus, Duration elapsed) {
  const bool requeued = state_word(state) == kSlurmRequeued && elapsed.ms > 0;
  if (is_unfinished(state) && !requeued) return "not ended";
  const bool waited = is_cancelled(state) && elapsed.ms == 0;
  const bool has_any = gpus.has_requested || gpus.has_allocated;
  if (has_any && gpus.either().count() == 0) return "no GPU";
  if (waited) return "cancelled while waiting";
  if (!has_any) return "no GPU";
  return elapsed.ms == 0 ? "never started" : "";
}

std::string_view SlurmRuns::name(std::string_view id, std::string_view& repaired) {
  const int run = ++runs_[std::string(id)];
  if (run == 1) return id;
  repaired = "requeued: each run counts as a job";
  return named_ = fmt::format("{}#{}", id, run);
}

std::string slurm_runs_on(const ReadOptions& options, const SlurmJobGpus& gpus,
                          std::string_view partition, std::string_view features) {
  const SlurmAsked asked{std::string(gpus.requested.type), std::string(partition),
                         std::string(features)};
  // Without the request, a job of any type looks like one that asked for the type that it got.
  if (!gpus.has_requested && partition.empty() && features.empty()) return {};
  return options.slurm_runs_on ? options.slurm_runs_on(asked) : asked.gpu_type;
}

}  // namespace fairlead
