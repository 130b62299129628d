#include "fairlead/pods/slot_turns.h"

#include "fairlead/pods/in_place.h"

#include <algorithm>

namespace fairlead {

bool SlotTurns::runs_in_place(const PodGang& gang, const std::vector<GangPlace>& where) {
  const std::string& key = gang.owner().key;
  if (goes(key) || !is_resident(gang)) return false;
  if (!is_resident(gang, where)) {
    going_.insert(key);
    return false;
  }
  rest_due_.erase(key);
  return true;
}

bool SlotTurns::may_rest(const GangBook::Entry& entry) const {
  const PodGang& gang = entry.gang;
  if (!entry.is_here || !is_resident(gang)) return false;
  const bool goes = this->goes(gang.owner().key);
  return rests(gang, cluster_.residents()) ? !goes || !cluster_.objection(gang).empty()
                                           : !goes && !gang.is_pinned();
}

SlotTurns::Rest SlotTurns::rest(const GangBook::Entry& entry, Time now) {
  const std::string& key = entry.gang.owner().key;
  const bool may = may_rest(entry);
  if (!may || rests(entry.gang, cluster_.residents())) {
    rest_due_.erase(key);
    return may ? Rest::kRests : Rest::kLeaves;
  }
  const Time due = rest_due_.try_emplace(key, now + kRestLimit).first->second;
  if (due > now) return Rest::kWaits;
  going_.insert(key);  // its node may have no agent
  rest_due_.erase(key);
  return Rest::kLeaves;
}

void SlotTurns::forget(const std::string& key) {
  going_.erase(key);
  rest_due_.erase(key);
}

bool SlotTurns::fits(const PodGang& gang, const std::vector<GangPlace>& where,
                     const std::string& node) const {
  if (cluster_.is_lost(node)) return false;
  const std::string& key = gang.owner().key;
  const std::uint32_t slots = cluster_.node(node)->slots_per_gpu;
  return std::ranges::all_of(where, [&](const GangPlace& place) {
    return place.node != node || ((cluster_.residents().in_use(node, key) & place.gpus) == 0 &&
                                  cluster_.residents().full(node, place.gpus, slots, key) == 0);
  });
}

std::vector<std::string> SlotTurns::make_room(const PodGang& gang,
                                              const std::vector<GangPlace>& where,
                                              const Runs& runs) {
  std::vector<std::string> sent;
  for (const GangPlace& place : where) {
    const Node* const node = cluster_.node(place.node);
    if (node == nullptr || place.gpus == 0) continue;
    const std::uint64_t full =
        cluster_.residents().full(place.node, place.gpus, node->slots_per_gpu, gang.owner().key);
    if (full == 0) continue;
    if (auto first = send_away(place.node, full, runs)) sent.push_back(*std::move(first));
  }
  return sent;
}

std::optional<std::string> SlotTurns::send_away(const std::string& node, std::uint64_t gpus,
                                                const Runs& runs) {
  const std::string* first = nullptr;
  std::uint64_t since = 0;
  for (const Pod* pod : cluster_.residents().on(node, gpus)) {
    const GangBook::Entry* const other = gangs_.find(pod->gang);
    if (other == nullptr || pod->is_leaving) return std::nullopt;
    if (!cluster_.objection(other->gang).empty()) continue;
    if (goes(pod->gang)) return std::nullopt;
    if (runs(pod->gang) || !cluster_.residents().is_frozen(pod->uid)) continue;
    const std::uint64_t version = wish_version(pod->wish);
    if (first != nullptr && since <= version) continue;
    first = &pod->gang;
    since = version;
  }
  if (first == nullptr) return std::nullopt;
  going_.insert(*first);
  return *first;
}

std::vector<std::string> SlotTurns::late(Time now) const {
  std::vector<std::string> late;
  for (const auto& [key, due] : rest_due_) {
    if (due <= now) late.push_back(key);
  }
  return late;
}

Time SlotTurns::due() const {
  Time first = Time::never();
  for (const auto& [key, due] : rest_due_) first = std::min(first, due);
  return first;
}

}  // namespace fairlead
