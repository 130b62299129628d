#include "fairlead/pods/in_place.h"

#include <algorithm>

namespace fairlead {

bool is_resident(const PodGang& gang) {
  const std::vector<const Pod*> here = gang.members();
  if (!gang.owner().has_slots || here.empty() || !gang.is_whole()) return false;
  return std::ranges::all_of(here, [](const Pod* pod) {
    return !pod->node.empty() && pod->state == Pod::State::kRunning && pod->mask != 0 &&
           !pod->wish.empty();
  });
}

bool is_resident(const PodGang& gang, const std::vector<GangPlace>& where) {
  return is_resident(gang) && gang.runs_at(where);
}

bool rests(const PodGang& gang, const Residents& residents) {
  return std::ranges::all_of(gang.members(),
                             [&](const Pod* pod) { return residents.is_frozen(pod->uid); });
}

bool is_thawed(const PodGang& gang) {
  return std::ranges::all_of(gang.members(), [](const Pod* pod) { return pod->is_thawed(); });
}

bool is_to_run(const PodGang& gang) {
  return std::ranges::all_of(gang.members(), [](const Pod* pod) { return wishes_run(pod->wish); });
}

std::vector<GangAct> acts_to_rest(const PodGang& gang, const Residents& residents) {
  std::vector<GangAct> acts;
  for (const Pod* pod : gang.members()) {
    // After an order to rest, the pod waits for its agent. If an order to run may still take effect, a new
    // order to rest overtakes it.
    const bool waits = wishes_rest(pod->wish) && !residents.may_be_thawed(*pod);
    if (!waits) acts.push_back({.kind = GangAct::Kind::kFreeze, .pod = pod->uid});
  }
  return acts;
}

std::vector<GangAct> acts_to_thaw(const PodGang& gang, const Residents& residents) {
  const std::vector<const Pod*> here = gang.members();
  const bool are_free = std::ranges::all_of(here, [&](const Pod* pod) {
    return (residents.in_use(pod->node, gang.owner().key) & pod->mask) == 0;
  });
  if (!are_free) return {};
  std::vector<GangAct> acts;
  for (const Pod* pod : here) {
    if (!wishes_run(pod->wish)) acts.push_back({.kind = GangAct::Kind::kThaw, .pod = pod->uid});
  }
  return acts;
}

}  // namespace fairlead
