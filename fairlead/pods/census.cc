#include "fairlead/pods/census.h"

#include "fairlead/input/civil_time.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/joined_owners.h"
#include "fairlead/pods/lineage.h"
#include "fairlead/pods/tickets.h"
#include "fairlead/pods/watched_kinds.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

namespace fairlead {
namespace {

using State = CensusGang::State;

// Returns the time at that path; 0: there is none.
std::int64_t unix_ms_at(const Json& object, JsonPath path) {
  const std::string& text = text_at(object, path);
  if (text.empty()) return 0;
  const auto at = parse_utc_time(text);
  return at ? at->ms : 0;
}

// Returns the end of the last of a pod's containers.
std::int64_t pod_ended_unix_ms(const Json& pod) {
  std::int64_t ended = 0;
  for (const Json& container : json_at(pod, {"status", "containerStatuses"})) {
    ended = std::max(ended, unix_ms_at(container, {"state", "terminated", "finishedAt"}));
  }
  return ended;
}

// Returns the end of an owner, whatever its outcome.
std::int64_t owner_ended_unix_ms(const Json& object) {
  std::int64_t ended = unix_ms_at(object, {"status", "completionTime"});
  for (const std::string_view how : {"Failed", "Completed"}) {
    if (ended > 0) break;
    ended =
        unix_ms_at(item_at(object, {"status", "conditions"}, "type", how), {"lastTransitionTime"});
  }
  return ended;
}

// Returns the scheduler of an owner's pods, taken from its first set of pods.
std::string scheduler_of(const OwnerKind& kind, const Json& object) {
  const std::vector<PodSet> sets = pod_sets(kind, object);
  return sets.empty() ? "" : text_at(*sets.front().shape, {"spec", "schedulerName"});
}

CensusGang gang_of(const Owner& owner, const Json& object) {
  CensusGang gang{.name_space = owner.name_space,
                  .name = owner.name,
                  .model = owner.model,
                  .tasks = owner.tasks,
                  .task_gpus = owner.task_gpus,
                  .needs = owner.needs,
                  .declared = owner.time,
                  .created_unix_ms = unix_ms_at(object, {"metadata", "creationTimestamp"}),
                  .started_unix_ms = unix_ms_at(object, {"status", "startTime"}),
                  .ended_unix_ms = owner_ended_unix_ms(object)};
  if (owner.state == Owner::State::kFinished) gang.state = State::kFinished;
  if (owner.state == Owner::State::kFailed) gang.state = State::kFailed;
  if (gang.is_here() && owner.is_held_by_user()) gang.state = State::kHeld;
  return gang;
}

class Taker {
 public:
  Taker(const CensusOptions& options, std::int64_t now) : options_(options) {
    census_.unix_ms = now;
  }

  void take_node(const Json& object) {
    Node node = parse_node(object);
    census_.nodes[node.name] = std::move(node);
  }
  void take_owner(const OwnerKind& kind, const std::shared_ptr<const Json>& object) {
    if (!kind.is_joined) take_alone(kind, *object);
    const auto joined =
        joined_owners_.join(kind, {.kind = ReflectedChange::Kind::kAdded, .object = object});
    if (joined) take_alone(*joined->kind, *joined->change.object);
  }
  void take_alone(const OwnerKind& kind, const Json& object) {
    const std::string parent = known_parent(object);
    if (!parent.empty()) {
      lineage_.add(text_at(object, {"metadata", "uid"}), parent);
      return;
    }
    const bool is_ours = is_fairleads(kind, object);
    const std::string scheduler =
        is_ours ? std::string(kSchedulerName) : scheduler_of(kind, object);
    // Fairlead's pods that name their gang make it themselves: their owner is skipped.
    if (!is_ours && (!options_.all_schedulers || scheduler == kSchedulerName)) return;
    auto owner = parse_owner(kind, object, scheduler);
    if (!owner) {
      if (!is_ours) return;  // it belongs to another scheduler, and does not run as a gang
      census_.left_out.push_back(
          fmt::format("{}/{}: {}", text_at(object, {"metadata", "namespace"}),
                      text_at(object, {"metadata", "name"}), owner.error().message));
      return;
    }
    gangs_.emplace(owner->uid, gang_of(*owner, object));
  }
  // Adds a pod to its owner's gang, or to a gang made of pods. REQUIRES: all owners are known.
  void take_pod(const Json& object) {
    const Pod pod = parse_pod(object);
    const std::string key = key_of(pod);
    const auto gang = gangs_.find(key);
    if (gang != gangs_.end()) {
      if (pod.takes_gpus() || gang->second.node.empty()) gang->second.node = pod.node;
      // A Job's startTime is the creation of its pods. They may have waited, so a pod's later one counts.
      gang->second.started_unix_ms =
          std::max(gang->second.started_unix_ms, unix_ms_at(object, {"status", "startTime"}));
      if (pod.takes_gpus() && gang->second.state == State::kWaiting) {
        gang->second.state = State::kRunning;
      }
    } else if ((options_.all_schedulers || pod.is_ours) && pod.gpus > 0) {
      add_member(key, pod, object);
    } else if (pod.takes_gpus()) {
      census_.others[pod.node] += pod.gpus;
    }
  }
  Status take_settings(const Json& map) {
    FL_TRY_ASSIGN(tickets, parse_tickets(text_at(map, {"data", "tickets"})));
    census_.tickets = std::move(tickets);
    return {};
  }
  Census census() {
    gangs_.merge(loose_);
    for (auto& [uid, gang] : gangs_) {
      // A running gang has started, but a Job that has just been resumed may not have a start time yet.
      if (gang.started_unix_ms == 0) gang.started_unix_ms = census_.unix_ms;
      if (!gang.is_here() && gang.ended_unix_ms == 0) gang.ended_unix_ms = gang.started_unix_ms;
      census_.gangs.push_back(std::move(gang));
    }
    std::ranges::stable_sort(census_.gangs, {}, &CensusGang::created_unix_ms);
    return std::move(census_);
  }

 private:
  std::string key_of(const Pod& pod) const {
    if (pod.is_ours) return lineage_.gang_key(pod);
    return pod.owner.empty() ? pod.uid : lineage_.top(pod.owner);
  }

  // Adds a pod without a known owner: all existing pods with its key are its gang.
  void add_member(const std::string& key, const Pod& pod, const Json& object) {
    const bool is_new = !loose_.contains(key);
    CensusGang& gang = loose_[key];
    const auto needs = needs_of_pod(json_at(object, {"spec"}));
    const std::int64_t started = unix_ms_at(object, {"status", "startTime"});
    if (is_new) {
      gang.name_space = pod.name_space;
      gang.name = pod.name;
      gang.model = text_at(object, {"metadata", "annotations", kModelOf});
      gang.tasks = 0;  // this one is counted below
      gang.created_unix_ms = unix_ms_at(object, {"metadata", "creationTimestamp"});
      gang.started_unix_ms = started;
      if (needs) gang.needs = *needs;
      gang.state = pod.state == Pod::State::kSucceeded ? State::kFinished : State::kFailed;
    }
    ++gang.tasks;
    gang.task_gpus = std::max(gang.task_gpus, pod.gpus);
    if (started > 0) gang.started_unix_ms = std::min(gang.started_unix_ms, started);
    gang.ended_unix_ms = std::max(gang.ended_unix_ms, pod_ended_unix_ms(object));
    if (!pod.node.empty()) gang.node = pod.node;
    if (pod.takes_gpus()) gang.state = State::kRunning;
    if (pod.node.empty() && gang.state != State::kRunning) gang.state = State::kWaiting;
  }

  const CensusOptions& options_;
  Census census_;
  Lineage lineage_;
  JoinedOwners joined_owners_;
  std::map<std::string, CensusGang> gangs_;  // by uid of the owner
  std::map<std::string, CensusGang> loose_;  // by the key of their pods
};

}  // namespace

namespace {

// Waits until all of them are synced.
Status wait_for(KubeDoor& door, Time until, WatchedKinds& owners,
                std::span<Reflector* const> reflectors) {
  const auto is_late = [](const Reflector* reflector) { return !reflector->is_synced(); };
  for (;;) {
    owners.wake();
    Time due = std::min(until, owners.wake_at());
    for (Reflector* reflector : reflectors) {
      reflector->wake();
      due = std::min(due, reflector->wake_at());
    }
    const auto late = std::ranges::find_if(reflectors, is_late);
    if (late == reflectors.end() && owners.is_synced()) return {};
    if (door.now() >= until) {
      const std::string trouble = late == reflectors.end() ? owners.trouble() : (*late)->trouble();
      return run_error("the API server did not report all objects in time: {}",
                       trouble.empty() ? "no answer" : trouble);
    }
    const KubeEvent event = door.wait(due);
    if (event.kind == KubeEvent::Kind::kTerminate) return run_error("asked to leave");
    if (owners.handle(event)) continue;
    for (Reflector* reflector : reflectors) {
      if (reflector->handle(event)) break;
    }
  }
}

}  // namespace

Result<CensusGang> planned_gang(const OwnerKind& kind, const Json& object) {
  if (kind.is_joined)
    return input_error("another object describes the pods of a {}, once it is submitted",
                       kind.kind);
  if (!is_fairleads(kind, object)) {
    return input_error("its pods must have schedulerName: {}, and must not name their gang",
                       kSchedulerName);
  }
  FL_TRY_ASSIGN(owner, parse_owner(kind, object));
  CensusGang gang = gang_of(owner, object);
  if (gang.state != State::kHeld) return gang;
  return input_error("it would not start: it is suspended, or has {}: \"true\"", kHold);
}

Result<Census> take_census(KubeDoor& door, Time until, const CensusOptions& options) {
  const auto ignore = [](const ReflectedChange&) {};
  WatchedKinds owners(door, owner_kinds(), [](const OwnerKind&, const ReflectedChange&) {});
  Reflector nodes(door, "/api/v1/nodes", "", ignore);
  Reflector pods(door, "/api/v1/pods", "", ignore);
  Reflector settings(door, fmt::format("/api/v1/namespaces/{}/configmaps", options.name_space),
                     "fieldSelector=metadata.name%3Dfairlead", ignore);
  const std::array<Reflector*, 3> all = {&nodes, &pods, &settings};
  FL_TRY(wait_for(door, until, owners, all));
  Taker taker(options, door.unix_ms());
  for (const auto& [name, object] : nodes.objects()) taker.take_node(*object);
  owners.each([&](const OwnerKind& kind, const std::shared_ptr<const Json>& object) {
    taker.take_owner(kind, object);
  });
  for (const auto& [name, object] : pods.objects()) taker.take_pod(*object);
  for (const auto& [name, object] : settings.objects()) FL_TRY(taker.take_settings(*object));
  return taker.census();
}

}  // namespace fairlead
