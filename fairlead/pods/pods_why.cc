#include "fairlead/pods/pods_why.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/time_text.h"
#include "fairlead/live/entitled_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

std::string rivals_text(const Tables& tables, JobId job) {
  constexpr std::size_t kMost = 4;
  std::vector<JobId> running;
  for (JobId other : tables.running.members()) {
    const bool competes = std::ranges::any_of(tables.jobs.last_gang(other), [&](Slice slice) {
      return (tables.jobs.types[job] & type_bit(tables.cluster.node_type[slice.node])) != 0;
    });
    if (competes) running.push_back(other);
  }
  std::ranges::sort(running);
  std::vector<std::string> names;
  for (JobId other : running) {
    if (names.size() == kMost) break;
    names.push_back(
        fmt::format("{} ({})", tables.names[other], counted(tables.jobs.held_gpus[other], "GPU")));
  }
  if (names.empty()) return {};
  const std::size_t more = running.size() - names.size();
  return fmt::format("Instead of it: {}{}.", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

IdleGpus::IdleGpus(const Tables& tables)
    : nodes_(tables.cluster.type_names.size(), std::vector<std::uint32_t>(kNodeGpusMax + 1)) {
  for (NodeId node : ids<NodeId>(tables.cluster.nodes())) {
    const Tables::NodeState& state = tables.nodes[node];
    const auto idle = static_cast<std::size_t>(std::popcount(state.free & state.usable()));
    ++nodes_[tables.cluster.node_type[node].row()][idle];
  }
}

IdleGpus::Room IdleGpus::of(TypeMask types, std::uint32_t task_gpus) const {
  Room room;
  for (std::size_t type = 0; type < nodes_.size(); ++type) {
    if ((types & type_bit(GpuTypeId(type))) == 0) continue;
    for (std::uint32_t idle = 1; idle < nodes_[type].size(); ++idle) {
      room.idle += idle * nodes_[type][idle];
      room.tasks += idle / task_gpus * nodes_[type][idle];
    }
  }
  return room;
}

WaitCause wait_cause(const Tables& tables, JobId job, const IdleGpus& idle) {
  const Jobs& jobs = tables.jobs;
  if (jobs.state[job] == JobState::kHeld) return WaitCause::kHeld;
  const IdleGpus::Room room = idle.of(jobs.types[job], jobs.task_gpus[job]);
  if (room.idle == 0) return WaitCause::kNoGpus;
  if (room.idle < jobs.gpus[job]) return WaitCause::kTooFewGpus;
  return room.tasks * jobs.task_gpus[job] < jobs.gpus[job] ? WaitCause::kScattered
                                                           : WaitCause::kTurn;
}

std::string wait_sentence(const Tables& tables, JobId job, const IdleGpus& idle) {
  const Jobs& jobs = tables.jobs;
  const IdleGpus::Room room = idle.of(jobs.types[job], jobs.task_gpus[job]);
  const std::string wanted = counted(jobs.gpus[job], "GPU");
  switch (wait_cause(tables, job, idle)) {
    case WaitCause::kNoGpus:
      return fmt::format("It waits for {}; none that it can run on is idle.", wanted);
    case WaitCause::kTooFewGpus:
      return fmt::format("It waits for {}; {} that it can run on {} idle.", wanted, room.idle,
                         room.idle == 1 ? "is" : "are");
    case WaitCause::kScattered:
      return fmt::format(
          "It waits for {}; {} that it can run on are idle, but its pods have {} each, and only {} "
          "of "
          "{} find a node with as many.",
          wanted, room.idle, jobs.task_gpus[job], room.tasks, jobs.gpus[job] / jobs.task_gpus[job]);
    case WaitCause::kTurn:
      return fmt::format(
          "It waits for {}, and as many are idle: they are another's turn, or are "
          "kept for one that needs more.",
          wanted);
    case WaitCause::kHeld:
      break;
  }
  return tables.held_until.at(job) == Time::never()
             ? "It is suspended by its user, and goes on once that is taken back."
             : fmt::format("Its last start failed; it is tried again in {}.",
                           span_text(std::max<std::int64_t>(
                               0, (tables.held_until.at(job) - tables.now).ms)));
}

std::vector<std::string> why_lines(const Tables& tables, JobId job) {
  const Jobs& jobs = tables.jobs;
  std::vector<std::string> lines;
  if (jobs.state[job] == JobState::kRunning) {
    std::vector<std::string> on;
    for (Slice slice : jobs.last_gang(job)) {
      on.push_back(fmt::format("{} of {}", counted(slice.gpus, "GPU"),
                               tables.cluster.node_names[slice.node]));
    }
    lines.push_back(fmt::format("It {} on {}.", jobs.is_starting(job) ? "starts" : "runs",
                                fmt::join(on, ", ")));
  } else {
    lines.push_back(wait_sentence(tables, job, IdleGpus(tables)));
    if (std::string rivals = rivals_text(tables, job); !rivals.empty()) {
      lines.push_back(std::move(rivals));
    }
  }
  lines.push_back(entitlement_sentence(tables, jobs.user[job]));
  lines.push_back(
      fmt::format("The job has been served {:.2f} GPU-hours so far.",
                  to_gpu_hours(jobs.attained(job, std::max(tables.now, jobs.held_since[job])))));
  return lines;
}

}  // namespace fairlead
