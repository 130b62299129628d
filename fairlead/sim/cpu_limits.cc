#include "fairlead/sim/cpu_limits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

constexpr std::uint32_t kCpu = 0;
constexpr std::uint32_t kMemory = 1;
// More than the needs of all tasks of a node together.
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t offered(Thousandths has) { return has.value == 0 ? kUnlimited : has.value; }

}  // namespace

StatedResources stated_resources(const Cluster& cluster, const Workload& workload) {
  const auto some_node_has = [&](Thousandths CpuMemory::*amount) {
    return std::ranges::any_of(cluster.node_has,
                               [&](const CpuMemory& has) { return (has.*amount).value > 0; });
  };
  const bool has_cpus = some_node_has(&CpuMemory::cpus);
  const bool has_memory = some_node_has(&CpuMemory::memory_gb);
  StatedResources stated;
  for (JobId job : ids<JobId>(workload.asks.size())) {
    const CpuMemory asks = workload.asks[job];
    const std::int64_t gpus = workload.jobs.gpus[job];
    const std::int64_t task = workload.jobs.task_gpus[job];
    CpuMemory of_task;
    if (has_cpus) of_task.cpus.value = part_of_task(asks.cpus, gpus, task);
    if (has_memory) of_task.memory_gb.value = part_of_task(asks.memory_gb, gpus, task);
    if (of_task.is_stated()) stated.tasks.grow_to(job) = of_task;
  }
  if (stated.tasks.empty()) return {};
  for (NodeId node : ids<NodeId>(cluster.nodes())) stated.nodes.push_back(cluster.has_of(node));
  return stated;
}

TaskLimits cpu_limits(const StatedResources& stated) {
  TaskLimits limits;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> kinds;
  for (JobId job : ids<JobId>(stated.tasks.size())) {
    const std::int64_t cpus = stated.tasks[job].cpus.value;
    const std::int64_t memory = stated.tasks[job].memory_gb.value;
    std::vector<TaskNeed> needs;
    if (cpus > 0) needs.push_back({kCpu, cpus});
    if (memory > 0) needs.push_back({kMemory, memory});
    if (needs.empty()) continue;
    const auto next = static_cast<std::uint32_t>(kinds.size() + 1);
    const std::uint32_t kind = kinds.try_emplace({cpus, memory}, next).first->second;
    limits.set_needs(job, kind, std::move(needs));
  }
  limits.set_name(kCpu, TaskResource::kCpu);
  limits.set_name(kMemory, TaskResource::kMemory);
  for (NodeId node : ids<NodeId>(stated.nodes.size())) {
    const CpuMemory has = stated.nodes[node];
    limits.set_offer(node, {offered(has.cpus), offered(has.memory_gb)});
  }
  limits.set_lasting();
  return limits;
}

}  // namespace fairlead
