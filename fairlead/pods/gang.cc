#include "fairlead/pods/gang.h"

#include "fairlead/pods/gang_tasks.h"
#include "fairlead/pods/seats.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

std::vector<const Pod*> at_work(const std::map<std::string, Pod>& pods, bool with_gpus) {
  std::vector<const Pod*> found;
  for (const auto& [uid, pod] : pods) {
    if (!pod.is_over() && !pod.is_leaving && (pod.gpus > 0) == with_gpus) found.push_back(&pod);
  }
  return found;
}

}  // namespace

std::vector<const Pod*> PodGang::members() const {
  std::vector<const Pod*> found = at_work(pods_, true);
  // Puts neighbouring ranks on one node if possible.
  std::ranges::sort(found, {}, [](const Pod* pod) { return std::pair(pod->index, pod->name); });
  return found;
}

std::vector<const Pod*> PodGang::riders() const { return at_work(pods_, false); }

std::uint32_t PodGang::succeeded() const {
  const auto here = static_cast<std::uint32_t>(std::ranges::count_if(pods_, [](const auto& entry) {
    return entry.second.state == Pod::State::kSucceeded && entry.second.gpus > 0;
  }));
  const std::uint32_t all = std::max(here, owner_.succeeded);
  return all - std::min(all, owner_.spare);
}

std::uint32_t PodGang::missing() const {
  const auto here = static_cast<std::uint32_t>(members().size()) + succeeded();
  return owner_.pods - std::min(owner_.pods, here);
}

void PodGang::begin() {
  old_.clear();
  for (const auto& [uid, pod] : pods_) {
    if (pod.state == Pod::State::kFailed) old_.insert(uid);
  }
}

bool PodGang::is_away(const std::function<bool(const std::string&)>& lost) const {
  return std::ranges::none_of(pods_, [&](const auto& entry) {
    return entry.second.takes_gpus() && !lost(entry.second.node);
  });
}

bool PodGang::runs_at(const std::vector<GangPlace>& where) const {
  // Even after all pods have succeeded, the owner must be resumed, so that it ends.
  if (owner_.is_suspended) return false;
  if (!trouble(where).empty()) return false;
  std::uint32_t room = 0;
  for (const GangPlace& place : where) room += place.tasks;
  std::uint32_t running = 0;
  for (const Pod* pod : members()) {
    if (pod->node.empty()) continue;
    if (pod->state != Pod::State::kRunning) return false;
    ++running;
  }
  // In a stage without GPUs, the gang runs if the pods of that stage do.
  const auto waits = [](const Pod* pod) { return pod->state != Pod::State::kRunning; };
  if (owner_.is_staged && running == 0 && std::ranges::any_of(riders(), waits)) return false;
  const std::uint32_t all = owner_.pods - (missing() - awaited());
  return running + succeeded() >= (room < owner_.tasks ? room : all);
}

std::string PodGang::trouble(const std::vector<GangPlace>& where) const {
  std::map<std::string, std::uint32_t> room;
  std::map<std::string, std::uint64_t> gpus;
  for (const GangPlace& place : where) {
    room[place.node] += place.tasks * owner_.task_gpus;
    gpus[place.node] |= place.gpus;
  }
  for (const auto& [uid, pod] : pods_) {
    if (pod.gpus == 0) continue;
    if (pod.state == Pod::State::kFailed && !pod.is_leaving && !old_.contains(uid)) {
      return fmt::format("pod {} failed{}{}", pod.name, pod.reason.empty() ? "" : ": ", pod.reason);
    }
    if (!pod.takes_gpus() || pod.is_leaving || owner_.is_of_kueue()) continue;
    if (room[pod.node] < share(pod)) return fmt::format("pod {} is on node {}", pod.name, pod.node);
    room[pod.node] -= share(pod);
    if (owner_.has_slots && (pod.mask == 0 || (pod.mask & ~gpus[pod.node]) != 0)) {
      return fmt::format("pod {} has GPUs {} of node {}", pod.name, gpus_text(pod.mask), pod.node);
    }
  }
  return {};
}

std::vector<GangPlace> PodGang::found_at() const {
  std::map<std::string, GangPlace> on;
  std::map<std::string, std::uint32_t> taken;
  const std::vector<const Pod*> here = members();
  for (const Pod* pod : here) {
    GangPlace& place = on.try_emplace(pod->node, GangPlace{pod->node, 0}).first->second;
    std::uint32_t& gpus = taken[pod->node];
    gpus += share(*pod);
    place.tasks = (gpus + owner_.task_gpus - 1) / owner_.task_gpus;
    place.gpus |= pod->mask;
  }
  if (here.size() + succeeded() < owner_.pods || here.empty() || on.contains("")) return {};
  std::vector<GangPlace> found;
  found.reserve(on.size());
  for (const auto& [node, place] : on) found.push_back(place);
  return found;
}

std::vector<GangAct> PodGang::acts_to_run(const std::vector<GangPlace>& where, const Fits& fits,
                                          const Suits& suits) const {
  if (owner_.state != Owner::State::kHere) return {};
  if (owner_.is_suspended) {
    if (!owner_.is_ours) return {};
    return {{.kind = GangAct::Kind::kResume}};
  }
  // Its user has resumed it: the mark must not outlive the suspension, or it would hide the next.
  if (owner_.is_ours) return {{.kind = GangAct::Kind::kResume}};
  if (owner_.is_of_kueue()) return {};  // Kueue does the rest
  const std::vector<const Pod*> here = members();
  if (awaited() > 0) return {};
  std::map<std::string, std::uint32_t> room = room_left(where);
  // All or none: half a gang would block GPUs for nothing.
  const bool all_fit = std::ranges::all_of(room, [&](const auto& entry) {
    return entry.second == 0 || fits(entry.first, entry.second);
  });
  const bool any_gated = std::ranges::any_of(here, [](const Pod* pod) { return pod->is_gated; });
  if (!all_fit || any_gated) return {};
  std::vector<GangAct> acts = bindings(where, std::move(room), suits);
  add_riders(where, fits, acts);
  return acts;
}

std::uint32_t PodGang::share(const Pod& pod) const {
  return share_of_task(pod.gpus, owner_.task_gpus);
}

std::map<std::string, std::uint32_t> PodGang::room_left(const std::vector<GangPlace>& where) const {
  std::map<std::string, std::uint32_t> room;
  for (const GangPlace& place : where) room[place.node] += place.tasks * owner_.task_gpus;
  for (const Pod* pod : members()) {
    const auto left = room.find(pod->node);
    if (left != room.end()) left->second -= std::min(left->second, share(*pod));
  }
  return room;
}

std::vector<GangAct> PodGang::bindings(const std::vector<GangPlace>& where,
                                       std::map<std::string, std::uint32_t> room,
                                       const Suits& suits) const {
  std::map<std::string, std::uint64_t> gpus;
  for (const GangPlace& place : where) gpus[place.node] |= place.gpus;
  // Each share divides the larger ones, so the room that large pods leave has a place for each small one.
  std::map<std::uint32_t, std::vector<const Pod*>, std::greater<>> by_share;
  for (const Pod* pod : members()) {
    if (pod->node.empty()) by_share[share(*pod)].push_back(pod);
    gpus[pod->node] &= ~pod->mask;
  }
  std::vector<GangAct> acts;
  for (const auto& [share, left] : by_share) {
    std::vector<std::uint32_t> free;
    free.reserve(where.size());
    for (const GangPlace& place : where) free.push_back(room[place.node] / share);
    const std::vector<std::size_t> at = seats(left.size(), free, [&](std::size_t i, std::size_t j) {
      return suits(*left[i], where[j].node);
    });
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (at[i] == where.size()) break;
      const std::string& node = where[at[i]].node;
      room[node] -= share;
      const std::uint64_t its = lowest_gpus(gpus[node], left[i]->gpus);
      gpus[node] &= ~its;
      acts.push_back(
          {.kind = GangAct::Kind::kBind, .pod = left[i]->uid, .node = node, .gpus = its});
    }
  }
  return acts;
}

void PodGang::add_riders(const std::vector<GangPlace>& where, const Fits& fits,
                         std::vector<GangAct>& acts) const {
  const auto room =
      std::ranges::find_if(where, [&](const GangPlace& place) { return fits(place.node, 0); });
  if (room == where.end()) return;
  for (const Pod* pod : riders()) {
    if (!pod->node.empty() || pod->is_gated) continue;
    acts.push_back({.kind = GangAct::Kind::kBind, .pod = pod->uid, .node = room->node});
  }
}

std::vector<GangAct> PodGang::acts_to_stop(const MayCome& may_come) const {
  if (owner_.state == Owner::State::kLeft) return {{.kind = GangAct::Kind::kResume}};
  if (owner_.state != Owner::State::kHere) return {};
  if (owner_.kind != nullptr && owner_.is_suspended) return {};
  // Kueue would start it.
  if (owner_.is_of_kueue()) return {{.kind = GangAct::Kind::kSuspend}};
  // Pods that wait for a node have no GPUs, and may continue to wait.
  std::vector<GangAct> acts;
  bool is_bound = false;
  for (const auto& [uid, pod] : pods_) {
    if (!pod.takes_gpus() && !(pod.node.empty() && may_come(uid))) continue;
    is_bound = true;
    if (pod.is_leaving) continue;
    const auto kind = pod.is_marked ? GangAct::Kind::kEvict : GangAct::Kind::kMark;
    acts.push_back({.kind = kind, .pod = uid});
  }
  if (owner_.kind == nullptr) return acts;
  if (is_bound) return {{.kind = GangAct::Kind::kSuspend}};
  if (owner_.is_ours) return {{.kind = GangAct::Kind::kResume}};
  return {};
}

bool PodGang::may_be_bound(const MayCome& may_come) const {
  return std::ranges::any_of(
      pods_, [&](const auto& entry) { return entry.second.node.empty() && may_come(entry.first); });
}

bool PodGang::is_pinned() const {
  if (owner_.is_preemptible || owner_.is_held) return false;
  if (!owner_.is_bare) return !found_at().empty();
  return std::ranges::any_of(pods_, [](const auto& entry) { return entry.second.takes_gpus(); });
}

}  // namespace fairlead
