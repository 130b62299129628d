#include "fairlead/live/why_lines.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/time_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

std::string list_text(std::vector<std::string> items, std::size_t most) {
  const std::size_t more = items.size() - std::min(items.size(), most);
  items.resize(items.size() - more);
  return fmt::format("{}{}", fmt::join(items, ", "),
                     more == 0 ? std::string() : fmt::format(" and {} more", more));
}

bool can_use(const Tables& tables, JobId job, NodeId node) {
  return (tables.jobs.types[job] & type_bit(tables.cluster.node_type[node])) != 0;
}

std::string running_line(const Tables& tables, JobId job, std::int64_t ms) {
  constexpr std::size_t kNodes = 8;
  std::vector<std::string> on;
  for (Slice slice : tables.jobs.last_gang(job))
    on.push_back(
        fmt::format("{} of {}", counted(slice.gpus, "GPU"), tables.cluster.node_names[slice.node]));
  return fmt::format("It {} on {}, for {}.", tables.jobs.is_starting(job) ? "starts" : "runs",
                     list_text(std::move(on), kNodes), span_text(ms));
}

// Reports the idle GPUs that it can run on.
std::string idle_line(const Tables& tables, JobId job) {
  std::uint32_t idle = 0;
  std::uint32_t most = 0;
  for (NodeId node : ids<NodeId>(tables.cluster.nodes())) {
    if (!can_use(tables, job, node)) continue;
    const Tables::NodeState& state = tables.nodes[node];
    const auto here = static_cast<std::uint32_t>(std::popcount(state.free & state.usable()));
    idle += here;
    most = std::max(most, here);
  }
  return fmt::format(
      "{} that it can run on {} idle now{}.", idle == 0 ? "No GPU" : counted(idle, "GPU"),
      idle <= 1 ? "is" : "are",
      idle > most ? fmt::format(", at most {} of them on one node", most) : std::string());
}

// Names the jobs that run on GPUs that it could use.
std::string rivals_line(const Tables& tables, JobId job, const JobNames& name_of) {
  constexpr std::size_t kNames = 6;
  std::vector<JobId> rivals;
  for (JobId other : tables.running.members()) {
    const Gang gang = tables.jobs.last_gang(other);
    if (std::ranges::any_of(gang, [&](Slice slice) { return can_use(tables, job, slice.node); }))
      rivals.push_back(other);
  }
  if (rivals.empty()) return {};
  std::ranges::sort(rivals);
  std::vector<std::string> names;
  for (JobId other : rivals)
    names.push_back(
        fmt::format("{} ({})", name_of(other), counted(tables.jobs.allocated_gpus[other], "GPU")));
  return fmt::format("Instead of it: {}.", list_text(std::move(names), kNames));
}

// Names the one job that explains the cause.
std::string other_line(const Tables& tables, const WhyNow::Answer& answer,
                       const JobNames& name_of) {
  if (answer.other.is_none()) return {};
  const std::string other =
      fmt::format("{} ({})", name_of(answer.other), counted(tables.jobs.gpus[answer.other], "GPU"));
  return answer.cause == WhyCause::kKept ? fmt::format("They are kept for {}.", other)
                                         : fmt::format("It would fit, but {} went first.", other);
}

}  // namespace

std::vector<std::string> state_lines(WhyNow& why, JobId job, const JobNames& name_of) {
  const Tables& tables = why.moment().tables();
  const std::int64_t ms = std::max<std::int64_t>(0, (why.moment().now() - why.since(job)).ms);
  if (tables.jobs.state[job] == JobState::kRunning) return {running_line(tables, job, ms)};
  const WhyNow::Answer answer = why.cause(job);
  std::vector<std::string> lines = {fmt::format("It waits for {}, for {}: {}.",
                                                counted(tables.jobs.gpus[job], "GPU"),
                                                span_text(ms), why_cause_info(answer.cause).now)};
  if (answer.cause == WhyCause::kRetry) {
    const Duration left = tables.held_until.at(job) - why.moment().now();
    lines.push_back(
        fmt::format("The next try is in {}.", span_text(std::max<std::int64_t>(0, left.ms))));
  }
  if (tables.jobs.state[job] == JobState::kHeld) return lines;
  const PresentWaits::Job* present = why.waits().find(job);
  if (present != nullptr && present->stop)
    lines.push_back(
        fmt::format("It was stopped because {}.", stop_cause_info(*present->stop).text));
  lines.push_back(idle_line(tables, job));
  for (std::string line : {other_line(tables, answer, name_of), rivals_line(tables, job, name_of)})
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string served_sentence(const Tables& tables, JobId job, Time now) {
  const Time until = std::max(now, tables.jobs.run_since[job]);
  return fmt::format("The job has been served {:.2f} GPU-hours so far.",
                     to_gpu_hours(tables.jobs.attained(job, until)));
}

}  // namespace fairlead
