#include "fairlead/engine/eligibility.h"

#include "fairlead/model/levels.h"
#include "fairlead/model/task_limits.h"
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

// The reasons for a rejection for lack of a resource other than GPUs.
struct ResourceRefusals {
  std::string_view of_cluster;  // no policy could run the job
  std::string_view of_policy;   // its policy never runs it
};

ResourceRefusals refusals_by(TaskResource scarcest) {
  switch (scarcest) {
    case TaskResource::kCpu:
      return {"it needs more CPU than the nodes have on which it may run",
              "its policy finds no place for it on nodes with enough CPU"};
    case TaskResource::kMemory:
      return {"it needs more memory than the nodes have on which it may run",
              "its policy finds no place for it on nodes with enough memory"};
    case TaskResource::kOther:
    case TaskResource::kReserved:
      break;
  }
  return {"it needs more of a resource than the nodes have on which it may run",
          "its policy finds no place for it on nodes with enough of a resource"};
}

}  // namespace

std::size_t Eligibility::Hash::operator()(const Class& asked) const {
  const std::uint64_t gang = std::uint64_t{asked.gpus} << 32 | asked.types;
  const std::uint64_t shape = std::uint64_t{asked.task_gpus} << 8 | asked.closeness.bits();
  const std::uint64_t limited = std::uint64_t{asked.limited} << 16;
  const std::uint64_t mixed = (gang ^ (shape ^ limited) * 0x9e3779b97f4a7c15) * 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

Eligibility::Answer Eligibility::answer(const JobSpec& job, const Policy& policy,
                                        const Cluster& cluster, const Users& users,
                                        const TaskLimits* limits) {
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
  if (limits != nullptr && !limits->is_lasting()) limits = nullptr;
  const Class asked{smallest, job.task_gpus, job.closeness, job.types,
                    limits == nullptr ? 0 : limits->kind_of(job.job)};
  const auto kept = answers_.find(asked);
  if (kept != answers_.end()) return kept->second;
  Answer answer = answer_for(asked, policy, cluster);
  if (asked.limited != 0 && answer.refusal.empty())
    answer = limited_answer(answer, asked, policy, cluster, *limits, job.job);
  return answers_.emplace(asked, answer).first->second;
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

// REQUIRES: the job fits by its GPUs.
Eligibility::Answer Eligibility::limited_answer(Answer answer, const Class& asked,
                                                const Policy& policy, const Cluster& cluster,
                                                const TaskLimits& limits, JobId job) {
  TaskRoom room;
  room.begin(&limits, cluster.nodes());
  const FreeIndex all(cluster);
  const LimitedGpus idle = limited_gpus(cluster, all, room, job, asked.task_gpus);
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    if (idle.sizes[type] == 0) answer.types &= ~type_bit(type);
  }
  const GangAsked gang{asked.gpus, asked.task_gpus, asked.closeness};
  const Level level = asked.closeness.required;
  const auto usable = [&](NodeId node) { return whole_tasks(idle.free.on(node), asked.task_gpus); };
  const auto has_room = [&](TypeMask types) {
    return tightest_section(cluster, level, types, asked.gpus, usable).has_value();
  };
  // A policy that takes GPUs of one type must not wait for a type that has too little room.
  const bool mixes = policy.traits() == nullptr ||
                     (policy.traits()->placement.mixes && !policy.traits()->one_type);
  TypeMask one_type = answer.types;
  for (GpuTypeId type : ids<GpuTypeId>(mixes ? 0 : cluster.type_names.size())) {
    const TypeMask only = type_bit(type);
    const bool has_gpus = has_room_within(cluster, level, only, asked.gpus, asked.task_gpus);
    if (has_gpus && !has_room(only)) one_type &= ~only;
  }
  if (one_type != 0) answer.types = one_type;
  const ResourceRefusals refusals = refusals_by(room.scarcest(job, all, asked.task_gpus));
  if (!has_room(answer.types)) {
    answer.refusal = refusals.of_cluster;
  } else if (policy.traits() != nullptr &&
             !why_never_placed(*policy.traits(), cluster, gang, answer.types, idle).empty()) {
    answer.refusal = refusals.of_policy;
  }
  return answer;
}

}  // namespace fairlead
