// Gangs that take turns in place on nodes with slots (pods/slots.h): resting, thawing, and who goes
// where there are more residents than a GPU has slots.
#include "fairlead/pods/in_place.h"
#include "fairlead/pods/pods_world.h"

#include <algorithm>

namespace fairlead {

// True if the gang, which is to run, has what it needs where it is: its earlier holds are over. Where
// it is resident elsewhere, it goes from there first.
bool PodsWorld::settle_residence(Gang& gang) {
  if (gang.goes || !is_resident(gang.view)) return false;
  if (!is_resident(gang.view, gang.where)) {
    gang.goes = true;
    return false;
  }
  gang.rest_due = Time::never();
  tell_stopped(gang);
  touch(gang);
  return true;
}

// It can keep its place while others have their turns there. What is not to be stopped is not frozen;
// what is frozen and may not be disrupted stays so.
bool PodsWorld::may_rest(const Gang& gang) const {
  if (!gang.is_here || !is_resident(gang.view)) return false;
  return rests(gang.view, residents_) ? !gang.goes || !objection(gang).empty()
                                      : !gang.goes && !gang.view.is_pinned();
}

// True if the gang, which is not to run, keeps its place: it rests there, or is asked to.
bool PodsWorld::settle_rest(Gang& gang) {
  const Time now = door_.now();
  if (!may_rest(gang)) {
    gang.rest_due = Time::never();
    return false;
  }
  if (rests(gang.view, residents_)) {
    gang.rest_due = Time::never();
    tell_stopped(gang);
    return true;
  }
  gang.rest_due = std::min(gang.rest_due, now + options_.rest_limit);
  if (gang.rest_due <= now) {  // as where a node has no agent
    gang.goes = true;
    gang.rest_due = Time::never();
    return false;
  }
  ask(gang, acts_to_rest(gang.view, residents_));
  return true;
}

// True if the gang, whose pods run as far as kubelets know, is frozen or may be: it waits for its GPUs
// and for its agents.
bool PodsWorld::settle_thaw(Gang& gang) {
  if (!gang.view.owner().has_slots || is_thawed(gang.view)) return false;
  if (!gang.is_started && door_.now() >= gang.begun + options_.start_limit) {
    give_up(gang, EventKind::kStartFailed, "its pods were not thawed in time");
    return true;
  }
  ask(gang, acts_to_thaw(gang.view, residents_));
  return true;
}

// The GPUs that it is to have run nothing else, and each has a slot left.
bool PodsWorld::fits_slots(const Gang& gang, const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !found->second.is_ready) return false;
  const std::string& key = gang.view.owner().key;
  return std::ranges::all_of(gang.where, [&](const GangPlace& place) {
    return place.node != node ||
           ((residents_.in_use(node, key) & place.gpus) == 0 &&
            residents_.full(node, place.gpus, found->second.slots_per_gpu, key) == 0);
  });
}

// Where GPUs have no slot left for the gang, another that rests there has to go.
void PodsWorld::make_room(const Gang& gang) {
  const std::string& key = gang.view.owner().key;
  for (const GangPlace& place : gang.where) {
    const auto node = nodes_.find(place.node);
    if (node == nodes_.end() || place.gpus == 0) continue;
    const std::uint64_t full =
        residents_.full(place.node, place.gpus, node->second.slots_per_gpu, key);
    Gang* const first = full == 0 ? nullptr : first_to_go(place.node, full);
    if (first == nullptr) continue;
    first->goes = true;
    touch(*first);
  }
}

// The gang that has rested for the longest on one of the GPUs; null where one is going already.
PodsWorld::Gang* PodsWorld::first_to_go(const std::string& node, std::uint64_t gpus) {
  Gang* first = nullptr;
  std::uint64_t since = 0;
  for (const Pod* pod : residents_.on(node, gpus)) {
    const auto other = gangs_.find(pod->gang);
    if (other == gangs_.end() || pod->is_leaving) return nullptr;
    if (!objection(other->second).empty()) continue;
    if (other->second.goes) return nullptr;
    if (other->second.runs || !residents_.is_frozen(pod->uid)) continue;
    const std::uint64_t version = wish_version(pod->wish);
    if (first != nullptr && since <= version) continue;
    first = &other->second;
    since = version;
  }
  return first;
}

}  // namespace fairlead
