#include "fairlead/engine/eligibility.h"

#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/no_place.h"

#include <algorithm>

namespace fairlead {
namespace {

// Returns the types that have a node with room for a task.
TypeMask types_with_room(const Cluster& cluster, TypeMask types, std::uint32_t task_gpus) {
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    if (cluster.type_node_gpus_max[type] < task_gpus) types &= ~type_bit(type);
  }
  return types;
}

// Returns why no policy could run it; empty: one may. REQUIRES: gang.gpus is not above the cluster's.
std::string_view refusal_by_cluster(const Cluster& cluster, GangAsked gang, TypeMask types) {
  if (types == 0) return "its model runs on no GPU type of the cluster";
  std::uint32_t gpus = 0;
  std::uint32_t room = 0;
  std::uint32_t largest_node = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    gpus += cluster.type_gpus[type];
    room += cluster.room(type, gang.task_gpus);
    largest_node = std::max(largest_node, cluster.type_node_gpus_max[type]);
  }
  if (gang.gpus > gpus) return "larger than the GPU types its model runs on";
  if (gang.task_gpus > largest_node) {
    return "one of its tasks is larger than every node its model runs on";
  }
  if (gang.gpus > room) return "it has more tasks than the nodes its model runs on have room for";
  const Level level = gang.closeness.required;
  if (level != kAnywhere && !has_room_within(cluster, level, types, gang.gpus, gang.task_gpus)) {
    return "no section of its required network level has enough GPUs of its types";
  }
  return {};
}

}  // namespace

std::size_t Eligibility::Hash::operator()(const Class& asked) const {
  const std::uint64_t gang = std::uint64_t{asked.gpus} << 32 | asked.types;
  const std::uint64_t shape = std::uint64_t{asked.task_gpus} << 8 | asked.closeness.bits();
  const std::uint64_t mixed = (gang ^ shape * 0x9e3779b97f4a7c15) * 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

Eligibility::Answer Eligibility::answer(const JobSpec& job, const Policy& policy,
                                        const Cluster& cluster, const Users& users) {
  const std::uint32_t smallest = policy.needs().elastic ? job.gpus_min : job.gpus;
  if (smallest > cluster.gpus) return {.refusal = "larger than the cluster"};
  const std::int64_t quota = users.quota_of(job.user);
  if (quota != 0 && smallest > quota) {
    return {.refusal = "larger than the quota of its user's group"};
  }
  if (nodes_ != cluster.nodes()) {
    answers_.clear();
    nodes_ = cluster.nodes();
  }
  const Class asked{smallest, job.task_gpus, job.closeness, job.types};
  const auto kept = answers_.find(asked);
  if (kept != answers_.end()) return kept->second;
  return answers_.emplace(asked, answer_for(asked, policy, cluster)).first->second;
}

Eligibility::Answer Eligibility::answer_for(const Class& asked, const Policy& policy,
                                            const Cluster& cluster) {
  const GangAsked gang{asked.gpus, asked.task_gpus, asked.closeness};
  Answer answer{.refusal = refusal_by_cluster(cluster, gang, asked.types),
                .types = types_with_room(cluster, asked.types, asked.task_gpus)};
  if (answer.refusal.empty() && policy.traits() != nullptr) {
    answer.refusal = why_never_placed(*policy.traits(), cluster, gang, answer.types);
  }
  return answer;
}

}  // namespace fairlead
