#include "fairlead/pods/room.h"

#include "fairlead/pods/workload.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {

Resources asked_by_each(const PodGang& gang) {
  Resources each = gang.owner().needs.requests;
  for (const auto& [uid, pod] : gang.pods()) {
    if (pod.gpus > 0) raise(each, pod.requests);
  }
  // The engine takes care of these.
  each.erase(std::string(kGpuResource));
  each.erase(std::string(kSlotResource));
  return each;
}

namespace {

// Returns the GPUs of the gang's ClusterQueue that no pod takes for which `counts` is true, on whichever of its nodes the
// pods are.
std::uint32_t gpus_left(const PodGang& gang, const ClusterView& cluster,
                        const std::function<bool(const Pod&)>& counts) {
  std::uint32_t free = 0;
  for (const auto& [name, node] : cluster.nodes()) {
    const auto queue = node.labels.find(kClusterQueueOf);
    if (queue == node.labels.end() || queue->second != gang.owner().queue) continue;
    free += node.gpus - std::min(node.gpus, cluster.taken(name, counts));
  }
  return free;
}

// The quota of a queue has room once the pods of others have left it.
Room room_in_queue(const PodGang& gang, const ClusterView& cluster) {
  const Owner& owner = gang.owner();
  const auto is_other = [&](const Pod& pod) { return pod.gang != owner.key; };
  const std::uint32_t free = gpus_left(gang, cluster, is_other);
  Room room;
  room.is_there = free >= owner.pods;
  room.may_come = true;
  if (!room.is_there) room.why = fmt::format("ClusterQueue {} has too few GPUs left", owner.queue);
  return room;
}

}  // namespace

bool awaits_quota(const PodGang& gang, const ClusterView& cluster) {
  const Owner& owner = gang.owner();
  if (!owner.is_of_kueue()) return false;
  const auto any = [](const Pod&) { return true; };
  const auto stays = [](const Pod& pod) { return !pod.is_leaving; };
  return gpus_left(gang, cluster, any) < owner.pods &&
         gpus_left(gang, cluster, stays) >= owner.pods;
}

Room room_for(const PodGang& gang, const std::vector<GangPlace>& where, const ClusterView& cluster,
              const std::function<bool(const Pod&, const std::string& node)>& stays) {
  if (gang.owner().is_of_kueue()) return room_in_queue(gang, cluster);
  const Resources each = asked_by_each(gang);
  // Returns the resources that pods of other gangs use on a node: all pods, or only pods that stay.
  const auto used = [&](const std::string& node, bool all) {
    Resources sum;
    cluster.each_on(node, [&](const Pod& pod) {
      if (pod.gang == gang.owner().key) return;
      if (all || stays(pod, node)) add(sum, pod.requests);
    });
    return sum;
  };
  Room room;
  for (const GangPlace& place : where) {
    const Node* const node = cluster.node(place.node);
    if (node == nullptr) continue;
    const Resources wanted = times(each, place.tasks);
    const std::string lacks = lacking(node->allocatable, used(place.node, true), wanted);
    if (lacks.empty()) continue;
    room.is_there = false;
    room.node = place.node;
    room.why = fmt::format("node {} has too little {}", place.node, lacks);
    room.may_come = lacking(node->allocatable, used(place.node, false), wanted).empty();
    if (!room.may_come) return room;
  }
  return room;
}

}  // namespace fairlead
