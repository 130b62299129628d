// Whether the pods of a gang have what they ask for on its nodes beside GPUs, and what is done where
// they do not.
#include "fairlead/pods/pods_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// GPUs without the rest are left alone for so long, unless a pod leaves the node sooner.
constexpr Duration kRest = seconds(300);

}  // namespace

// Whether a pod on a node, or asked to be, is where it is wanted; else it is about to go.
bool PodsWorld::stays(const Pod& pod, const std::string& node) const {
  if (pod.is_leaving) return false;
  const auto found = gangs_.find(pod.gang);
  if (found == gangs_.end()) return true;
  const Gang& gang = found->second;
  if (gang.is_beyond || gang.view.is_pinned()) return true;
  // Before it is clear, its pods are of an earlier hold.
  return gang.runs && gang.is_clear &&
         std::ranges::find(gang.where, node, &GangPlace::node) != gang.where.end();
}

// What is taken of a node beside the gang's own pods; what is about to go counts only if `all`.
Resources PodsWorld::used(const std::string& node, const Gang& except, bool all) const {
  Resources sum;
  const auto count = [&](const Pod& pod) {
    if (pod.gang == except.view.owner().key) return;
    if (all || stays(pod, node)) fairlead::add(sum, pod.requests);
  };
  for (const auto& [uid, asked] : asked_) {
    if (asked.node == node && may_come(uid)) count(pods_.at(uid));
  }
  if (const auto on = pods_on_.find(node); on != pods_on_.end()) {
    for (const std::string& uid : on->second) {
      if (const Pod& pod = pods_.at(uid); pod.takes_gpus()) count(pod);
    }
  }
  return sum;
}

PodsWorld::Room PodsWorld::room_for(const Gang& gang) const {
  // All pods with GPUs are alike, but those that are there may ask for more than was written, for a sidecar
  // that something has put beside them.
  Resources each = gang.view.owner().needs.requests;
  for (const auto& [uid, pod] : gang.view.pods()) {
    if (pod.gpus > 0) raise(each, pod.requests);
  }
  // Of which the engine takes care.
  each.erase(std::string(kGpuResource));
  each.erase(std::string(kSlotResource));
  Room room;
  for (const GangPlace& place : gang.where) {
    const auto node = nodes_.find(place.node);
    if (node == nodes_.end()) continue;
    const Resources wanted = times(each, place.pods);
    const Resources& offered = node->second.allocatable;
    const std::string lacks = lacking(offered, used(place.node, gang, true), wanted);
    if (lacks.empty()) continue;
    room.is_there = false;
    room.node = place.node;
    room.why = fmt::format("node {} has too little {}", place.node, lacks);
    room.may_come = lacking(offered, used(place.node, gang, false), wanted).empty();
    if (!room.may_come) return room;
  }
  return room;
}

// Where it has none, and none may come, its start has failed.
bool PodsWorld::has_room(Gang& gang) {
  const Room room = room_for(gang);
  if (room.is_there) return true;
  if (room.may_come || gang.view.is_pinned()) {
    // What rests in place there goes, one after the other.
    Gang* const first = gang.view.owner().has_slots ? first_to_go(room.node, ~0ULL) : nullptr;
    if (first == nullptr) return false;
    first->goes = true;
    touch(*first);
    return false;
  }
  // The policy cannot see that, and would place it there again.
  rest(room.node);
  give_up(gang, EventKind::kStartFailed, room.why);
  return false;
}

void PodsWorld::rest(const std::string& node) { resting_[node] = door_.now() + kRest; }

void PodsWorld::end_rest(const std::string& node) {
  if (resting_.erase(node) > 0) touched_nodes_.insert(node);
}

void PodsWorld::end_rests(Time now) {
  std::erase_if(resting_, [&](const auto& entry) {
    if (entry.second > now) return false;
    touched_nodes_.insert(entry.first);
    return true;
  });
}

}  // namespace fairlead
