#include "fairlead/engine/standstill_cause.h"

#include <algorithm>

namespace fairlead {
namespace {

// Returns the reason why no job makes progress, with an example.
std::string standstill_cause(const EngineState& state) {
  if (const JobId job = state.standstill.stopped_early(); !job.is_none()) {
    return fmt::format(
        "no job has worked in its last {} decisions: the policy stops each before the overhead of "
        "its start or move is over; use a longer quantum or lower costs. Example: job {}",
        state.standstill.idle(), state.tables.names[job]);
  }
  if (state.tables.waiting.members().empty()) {
    return fmt::format("it asked to be woken {} times without a job that waits or works",
                       state.standstill.idle());
  }
  const JobId job = std::ranges::min(state.tables.waiting.members());
  return fmt::format(
      "it was woken {} times without placing any of {} waiting jobs; {} GPUs are free, and the "
      "first that waits asks for {}: job {}",
      state.standstill.idle(), state.tables.waiting.members().size(), state.plan.free().total(),
      state.tables.jobs.gpus[job], state.tables.names[job]);
}

// Returns the reason why jobs do almost no work, the remedy, and an example.
std::string no_work_cause(const EngineState& state) {
  if (state.standstill.taken() > 0) {
    const std::span<const JobId> running = state.tables.running.members();
    const std::span<const JobId> here = running.empty() ? state.tables.waiting.members() : running;
    return fmt::format(
        "failures took their GPUs {} times, before they worked or reached a checkpoint; use rarer "
        "failures, or a lower start_s or checkpoint_interval_s. Example: job {}",
        state.standstill.taken(), state.tables.names[std::ranges::min(here)]);
  }
  const std::span<const JobId> waiting = state.tables.waiting.members();
  if (!state.standstill.stopped_early().is_none() || waiting.empty())
    return standstill_cause(state);
  const JobId job = std::ranges::min(waiting);
  return fmt::format(
      "none of {} waiting jobs was placed; the first asks for {} GPUs, and {} of {} are up and "
      "open "
      "to jobs, {} of them free; use rarer or shorter failures. Example: job {}",
      waiting.size(), state.tables.jobs.gpus[job], state.plan.free().capacity(),
      state.tables.cluster.gpus, state.plan.free().total(), state.tables.names[job]);
}

}  // namespace

tl::unexpected<Error> idle_error(const EngineState& state, std::string_view policy) {
  return run_error("policy {} has brought the jobs to a standstill at {} s: {}", policy,
                   to_seconds(state.now), standstill_cause(state));
}

tl::unexpected<Error> no_work_error(const EngineState& state, std::string_view policy) {
  const Standstill& standstill = state.standstill;
  return run_error(
      "the run gets nowhere under policy {}: in {} records and decisions from {} s to {} s, jobs "
      "worked {} s in total: {}",
      policy, standstill.records(), to_seconds(standstill.since()), to_seconds(state.now),
      to_seconds(standstill.work()), no_work_cause(state));
}

}  // namespace fairlead
