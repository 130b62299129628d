#include "fairlead/engine/idle_gpus.h"

#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <bit>

namespace fairlead {

IdleGpus::IdleGpus(const Tables& tables)
    : tables_(tables), idle_(tables.nodes.size()), of_type_(tables.cluster.type_names.size()) {
  for (const NodeId node : ids<NodeId>(tables.cluster.nodes())) {
    idle_[node] = tables.nodes[node].free & tables.nodes[node].usable();
    of_type_[tables.cluster.node_type[node]] +=
        static_cast<std::uint64_t>(std::popcount(idle_[node]));
  }
}

bool IdleGpus::take(JobId job) {
  const Jobs& jobs = tables_.jobs;
  if (jobs.is_pinned(job) && !jobs.last[job].empty()) return take_last(job);
  const std::uint32_t task_gpus = jobs.task_gpus[job];
  for (const GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size())) {
    if ((jobs.types[job] & type_bit(type)) == 0 || of_type_[type] < jobs.gpus[job]) continue;
    if (take_of_type(type, jobs.gpus[job] / task_gpus, task_gpus)) return true;
  }
  return false;
}

bool IdleGpus::take_last(JobId job) {
  const auto masks = tables_.jobs.gangs.gpu_masks(tables_.jobs.last[job]);
  std::size_t i = 0;
  for (const Slice slice : tables_.jobs.last_gang(job)) {
    if ((idle_[slice.node] & masks[i]) != masks[i]) return false;
    ++i;
  }
  i = 0;
  for (const Slice slice : tables_.jobs.last_gang(job)) take_of_node(slice.node, masks[i++]);
  return true;
}

bool IdleGpus::take_of_type(GpuTypeId type, std::uint32_t tasks, std::uint32_t task_gpus) {
  const auto tasks_on = [&](NodeId node) {
    if (tables_.cluster.node_type[node] != type) return 0U;
    return static_cast<std::uint32_t>(std::popcount(idle_[node])) / task_gpus;
  };
  std::uint64_t room = 0;
  for (const NodeId node : ids<NodeId>(tables_.cluster.nodes())) room += tasks_on(node);
  if (room < tasks) return false;
  for (const NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    const std::uint32_t here = std::min(tasks, tasks_on(node));
    tasks -= here;
    std::uint64_t gpus = 0;
    for (std::uint32_t left = here * task_gpus; left > 0; --left) {
      const std::uint64_t others = idle_[node] & ~gpus;
      gpus |= others & -others;
    }
    take_of_node(node, gpus);
  }
  return true;
}

void IdleGpus::take_of_node(NodeId node, std::uint64_t gpus) {
  idle_[node] &= ~gpus;
  of_type_[tables_.cluster.node_type[node]] -= static_cast<std::uint64_t>(std::popcount(gpus));
}

std::uint64_t usable_gpus(const Tables& tables, JobId job, TypeMask types) {
  const TaskLimits* const limits = tables.jobs.limits;
  const std::uint64_t task = tables.jobs.has(job) ? tables.jobs.task_gpus[job] : 1;
  std::uint64_t gpus = 0;
  for (const NodeId node : ids<NodeId>(tables.cluster.nodes())) {
    if ((types & type_bit(tables.cluster.node_type[node])) == 0) continue;
    const auto here = static_cast<std::uint64_t>(std::popcount(tables.nodes[node].usable()));
    gpus += limits == nullptr ? here : std::min(here, task * limits->most_tasks(job, node));
  }
  return gpus;
}

}  // namespace fairlead
