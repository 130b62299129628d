// Checks of the GPUs: processes on them that belong to no job, and jobs that leave them idle.

#include "fairlead/local/local_backend.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Chosen: costs a few milliseconds of the driver for each GPU, and is frequent enough to be useful.
constexpr Duration kGpuLook = seconds(5);
// Chosen: longer than a job reads its data, or evaluates on the processor.
constexpr Duration kIdleMin = seconds(600);

}  // namespace

void LocalBackend::look_at_gpus(Time now) {
  std::optional<GpuLook> look = io_.look_at_gpus();
  next_gpu_look_ = look ? now + kGpuLook : Time::never();
  foreign_ = look ? std::move(look->foreign) : std::vector<ForeignProcess>();
  note_idle(now, look ? look->busy_percent : std::vector<int>());
  for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    const Tables::NodeState& state = tables_.nodes[node];
    const std::uint64_t foreign = foreign_mask(node);
    const std::uint64_t back = state.has & ~state.up & ~foreign;
    if (back != 0) inbox_.add({.kind = EventKind::kGpusUp, .node = node, .gpus = back});
    const std::uint64_t down = foreign & state.up & state.free;  // no job has them
    if (down != 0) inbox_.add({.kind = EventKind::kGpusDown, .node = node, .gpus = down});
  }
}

void LocalBackend::note_idle(Time now, std::span<const int> busy_percent) {
  const auto is_idle = [&](std::uint32_t gpu) {
    return gpu < busy_percent.size() && busy_percent[gpu] == 0;
  };
  for (auto& [id, job] : jobs_) {
    if (!job.task || !job.task->works) continue;
    Task& task = *job.task;
    if (!std::ranges::all_of(task.gpus, is_idle)) {
      task.idle_since = Time::never();
    } else if (task.idle_since == Time::never()) {
      task.idle_since = now;
    }
  }
}

Duration LocalBackend::idle(JobId job, Time now) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.task) return {};
  const Time since = found->second.task->idle_since;
  return since == Time::never() || now - since < kIdleMin ? Duration() : now - since;
}

std::uint64_t LocalBackend::foreign_mask(NodeId node) const {
  std::uint64_t mask = 0;
  const std::uint32_t first = first_gpus_[node];
  for (const ForeignProcess& process : foreign_) {
    if (process.gpu >= first && process.gpu - first < tables_.cluster.node_gpus[node])
      mask |= std::uint64_t{1} << (process.gpu - first);
  }
  return mask;
}

bool LocalBackend::has_foreign(std::span<const std::uint32_t> gpus) const {
  return std::ranges::any_of(gpus, [&](std::uint32_t gpu) {
    return std::ranges::find(foreign_, gpu, &ForeignProcess::gpu) != foreign_.end();
  });
}

void LocalBackend::say_foreign(std::span<const std::uint32_t> gpus) {
  for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    std::uint64_t mask = 0;
    for (std::uint32_t gpu : gpus) {
      const std::uint32_t first = first_gpus_[node];
      if (gpu >= first && gpu - first < tables_.cluster.node_gpus[node])
        mask |= std::uint64_t{1} << (gpu - first);
    }
    mask &= foreign_mask(node);
    if (mask != 0) inbox_.add({.kind = EventKind::kGpusDown, .node = node, .gpus = mask});
  }
}

}  // namespace fairlead
