#include "fairlead/pods/reconciler.h"

#include "fairlead/pods/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace fairlead {
namespace {

// "2 pods on n1, 1 pod on n2". Pods that share tasks are not counted: "2 tasks on n1".
std::string places_text(const std::vector<GangPlace>& where, const Owner& owner) {
  const std::string_view what = owner.tasks == owner.pods ? "pod" : "task";
  std::string text;
  for (const GangPlace& place : where) {
    text += fmt::format("{}{} {}{} on {}", text.empty() ? "" : ", ", place.tasks, what,
                        place.tasks == 1 ? "" : "s", place.node);
  }
  return text;
}

// Returns true if the gang's pods take no GPUs, except on lost nodes.
bool is_away(const PodGang& gang, const ClusterView& cluster) {
  return gang.is_away([&](const std::string& node) { return cluster.is_lost(node); });
}

// Returns true if Kueue may start the gang, or has started it: no pods of an earlier run are there. `is_first`: the gang
// has no earlier run.
bool is_started_by_kueue(const PodGang& gang, bool is_first, const ClusterView& cluster) {
  if (!gang.owner().is_of_kueue()) return false;
  return (is_first && !gang.found_at().empty()) || is_away(gang, cluster);
}

// Returns why Kueue does not run a gang that has its place; empty: it does, has not been asked to, or waits for pods that
// are leaving.
std::string unadmitted(const PodGang& gang, const ClusterView& cluster, bool has_place) {
  const Owner& owner = gang.owner();
  if (!has_place || owner.is_suspended || gang.missing() == 0) return {};
  if (awaits_quota(gang, cluster)) return {};
  return owner.pending.empty() ? "Kueue has not admitted it" : owner.pending;
}

// Returns true if Kueue may stop gangs of a lower priority for the gang. A gang that has quota and whose turn is over does
// not wait for that: its quota is for the next turn.
bool may_wait_for_preemption(const PodGang& gang, const Assignment& wish) {
  const bool is_turn_over = !wish.leaving.empty() && !gang.pods().empty();
  return gang.owner().preempts && !gang.owner().is_held && !is_turn_over;
}

// Notes whether the gang waits for quota, and until when it waited.
void note_wait(Assignment& wish, const PodGang& gang, const ClusterView& cluster, Time now) {
  const bool waits = !wish.is_started && awaits_quota(gang, cluster);
  if (std::exchange(wish.waits, waits) || waits) wish.waited = now;
}

// Returns when the start of the run has failed, unless the gang runs.
Time start_due(const Assignment& wish) { return std::max(wish.start, wish.waited) + kStartLimit; }

// Returns the longest time in which not all pods of a running gang run. Pods of a later stage start in it.
Duration broken_limit(const Owner& owner) { return owner.is_staged ? kStartLimit : kBrokenLimit; }

// Returns why the gang's pods cannot be bound as they are; empty: they can, or only an attempt can show it.
// `has_place`: the engine wants it to run.
std::string unbindable(const PodGang& gang, const ClusterView& cluster, bool has_place) {
  const Owner& owner = gang.owner();
  if (owner.is_of_kueue()) return unadmitted(gang, cluster, has_place);
  for (const Pod* pod : gang.members()) {
    if (pod->is_gated) return fmt::format("pod {} has a scheduling gate", pod->name);
  }
  // Pods without a known owner are complete, or the gang has no job.
  const std::uint32_t missing = owner.kind == nullptr ? 0 : gang.awaited();
  if (owner.is_held_by_user()) return {};
  if (std::string why = volume_objection(gang, cluster); !why.empty()) return why;
  if (missing == 0) return {};
  std::string quota = cluster.quota_objection(gang, missing);
  if (owner.is_suspended) return quota;
  return fmt::format("{} of its {} pods do not exist{}{}", missing, owner.pods,
                     quota.empty() ? "" : ": ", quota);
}

}  // namespace

// --- What the engine wants ----------------------------------------------------------------------

void Reconciler::adopt(const std::string& key, Assignment assignment) {
  assignments_[key] = std::move(assignment);
}

void Reconciler::announce(const std::string& key) {
  const Owner& owner = gangs_.find(key)->gang.owner();
  Assignment& wish = assignments_[key];
  wish.tasks = owner.tasks;
  wish.task_gpus = owner.task_gpus;
}

bool Reconciler::stop(const std::string& key, RunId run) {
  Assignment& wish = assignments_[key];
  if (run <= wish.ended) return false;
  wish.ended = run;
  wish.leaving.push_back(run);
  return std::exchange(wish.runs, false);
}

bool Reconciler::place(const std::string& key, const Step& step, Time now, bool is_calling) {
  Assignment& wish = assignments_[key];
  if (step.run <= wish.run) return false;
  wish.runs = true;
  wish.is_started = wish.is_clear = false;
  wish.broken = Time::never();
  wish.run = step.run;
  wish.start = now;
  wish.where = places_of(key, step.gang, step.gpu_masks, wish.task_gpus);
  // An earlier scheduler placed it there.
  const bool is_new = wish.leaving.empty() && !is_calling;
  if (is_new && gangs_.find(key)->gang.found_at() == wish.where) wish.is_clear = true;
  return true;
}

Settlement Reconciler::keep(const std::string& key) {
  Look look{key, *gangs_.find(key), assignments_[key], {}};
  if (!look.owner().has_slots || is_resident(look.gang(), look.wish.where)) report_stopped(look);
  return std::move(look.out);
}

void Reconciler::forget(const std::string& key) {
  assignments_.erase(key);
  missing_.forget(key);
  turns_.forget(key);
}

const Assignment& Reconciler::of(const std::string& key) const {
  static const Assignment kNone;
  const auto found = assignments_.find(key);
  return found == assignments_.end() ? kNone : found->second;
}

std::vector<GangPlace> Reconciler::places_of(const std::string& key, Gang slices,
                                             std::span<const std::uint64_t> masks,
                                             std::uint32_t task_gpus) const {
  const bool has_slots = gangs_.find(key)->gang.owner().has_slots;
  std::vector<GangPlace> places;
  places.reserve(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    places.push_back({tables_->cluster.node_names[slices[i].node], slices[i].gpus / task_gpus,
                      has_slots ? masks[i] : 0});
  }
  std::ranges::sort(places, {}, &GangPlace::node);
  return places;
}

bool Reconciler::is_over(const std::string& key) const {
  const GangBook::Entry& entry = *gangs_.find(key);
  if (entry.is_here) return false;
  return entry.job.is_none() || (of(key).leaving.empty() && !tables_->jobs.is_here(entry.job));
}

// --- Which gangs to look at -----------------------------------------------------------------------

std::vector<std::string> Reconciler::starting() const {
  std::vector<std::string> keys;
  for (const auto& [key, wish] : assignments_) {
    if (wish.runs && !wish.is_started) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> Reconciler::kept() const {
  std::vector<std::string> keys;
  for (const auto& [key, wish] : assignments_) {
    if (!wish.leaving.empty() || wish.is_beyond || turns_.goes(key)) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> Reconciler::late(Time now) const {
  std::vector<std::string> keys = turns_.late(now);
  std::ranges::copy(missing_.late(now), std::back_inserter(keys));
  for (const auto& [key, wish] : assignments_) {
    const bool is_late = wish.runs && !wish.is_started && start_due(wish) <= now;
    if (is_late || wish.broken != Time::never()) keys.push_back(key);
  }
  return keys;
}

Time Reconciler::due() const {
  Time first = std::min(turns_.due(), missing_.due());
  for (const auto& [key, wish] : assignments_) {
    if (!wish.runs) continue;
    if (!wish.is_started) first = std::min(first, start_due(wish));
    if (wish.broken != Time::never()) {
      const GangBook::Entry* const entry = gangs_.find(key);
      first = std::min(first, wish.broken + broken_limit(entry->gang.owner()));
    }
  }
  return first;
}

// --- A node ---------------------------------------------------------------------------------------

// Returns true if the engine does not count the pod's resources for a gang.
bool Reconciler::is_outside(const Pod& pod) const {
  return gangs_.find(pod.gang) == nullptr || of(pod.gang).is_beyond;
}

OtherResources::Amounts Reconciler::amounts_on(NodeId node, const OtherResources& resources) const {
  const std::string& name = tables_->cluster.node_names[node];
  const Node* const found = cluster_.node(name);
  OtherResources::Amounts amounts{found == nullptr ? Resources() : found->allocatable};
  cluster_.each_on(name, [&](const Pod& pod) {
    if (is_outside(pod) || pod.gpus == 0) return add(amounts.used, pod.requests);
    // A pod of a gang that must leave is about to go.
    if (!stays(pod, name)) return;
    add(amounts.used, pod.requests);
    add(amounts.known, resources.needs_of(gangs_.find(pod.gang)->job));
  });
  return amounts;
}

std::vector<Event> Reconciler::settle_node(NodeId node) const {
  const std::string& name = tables_->cluster.node_names[node];
  const Tables::NodeState& state = tables_->nodes[node];
  std::vector<Event> reports;
  if (cluster_.is_lost(name)) {
    if (state.up != 0) reports.push_back({.kind = EventKind::kGpusDown, .node = node});
    return reports;
  }
  const Node& now = *cluster_.node(name);
  const bool is_cordoned = tables_->cordoned.contains(node);
  if (now.is_cordoned != is_cordoned) {
    reports.push_back({.kind = is_cordoned ? EventKind::kUncordoned : EventKind::kCordoned,
                       .node = node,
                       .reason = "it is unschedulable"});
  }
  const std::uint32_t others =
      cluster_.taken(name, [this](const Pod& pod) { return is_outside(pod); });
  const auto has = static_cast<std::uint32_t>(std::popcount(state.has));
  const auto up = static_cast<std::uint32_t>(std::popcount(state.up));
  const std::uint32_t wanted = std::min(has, now.gpus - std::min(others, now.gpus));
  // Any of the GPUs will do.
  std::uint64_t mask = 0;
  std::uint64_t choice = up > wanted ? state.up & state.free : state.has & ~state.up;
  for (std::uint32_t left = up > wanted ? up - wanted : wanted - up; left > 0 && choice != 0;
       --left) {
    const std::uint64_t bit = std::bit_floor(choice);
    mask |= bit;
    choice &= ~bit;
  }
  if (mask == 0) return reports;
  reports.push_back({.kind = up > wanted ? EventKind::kGpusDown : EventKind::kGpusUp,
                     .node = node,
                     .gpus = mask});
  return reports;
}

// --- A gang ---------------------------------------------------------------------------------------

Settlement Reconciler::settle(const std::string& key, Time now) {
  Look look{key, *gangs_.find(key), assignments_[key], now};
  settle_beyond(look);
  // Else its time limit would stay due.
  if (!look.entry.is_here || look.owner().state != Owner::State::kHere) missing_.forget(key);
  if (look.entry.job.is_none()) {
    look.out.is_new_job = look.entry.is_whole_and_here() && !settle_missing(look);
    if (look.owner().state == Owner::State::kLeft) settle_stop(look);
  } else if (!settle_end(look) && !settle_hold(look) && !settle_shape(look)) {
    look.wish.runs ? settle_run(look) : settle_stop(look);
  }
  return std::move(look.out);
}

void Reconciler::report(Look& look, const Event& event, std::string reason) const {
  look.out.reports.push_back({event, std::move(reason)});
}

// Reports the end of the job if its gang is gone or has ended.
bool Reconciler::settle_end(Look& look) const {
  const JobId job = look.entry.job;
  const Owner& owner = look.owner();
  if (!tables_->jobs.is_here(job)) return false;
  const RunId run = tables_->jobs.run[job];
  if (look.entry.is_here && owner.state == Owner::State::kHere) return false;
  look.wish.runs = false;
  // It may be over before it had a turn.
  if (!look.entry.is_here || owner.state == Owner::State::kLeft || run == 0) {
    report(look, {.kind = EventKind::kCancelled, .job = job});
  } else if (owner.state == Owner::State::kFinished) {
    report(look, {.kind = EventKind::kFinished, .job = job, .run = run});
  } else {
    report(look, {.kind = EventKind::kFailed, .job = job, .run = run}, owner.reason);
  }
  return true;
}

// Makes the gang a new job if the number or the size of its pods is not the one that the engine knows. Waits until
// the gang has left its place.
bool Reconciler::settle_shape(Look& look) const {
  const Owner& owner = look.owner();
  Assignment& wish = look.wish;
  const bool is_same = wish.tasks == owner.tasks && wish.task_gpus == owner.task_gpus;
  if (is_same || !look.entry.is_whole_and_here() || wish.runs || !wish.leaving.empty()) {
    return false;
  }
  if (tables_->jobs.is_here(look.entry.job)) {
    report(look, {.kind = EventKind::kCancelled, .job = look.entry.job});
    return true;
  }
  wish.run = wish.ended = 0;
  look.out.is_new_job = true;
  return true;
}

// Returns true if the gang must leave its GPUs, and an objection keeps it there.
bool Reconciler::is_stuck(const Look& look) const {
  if ((look.wish.runs && look.wish.is_clear) || turns_.may_rest(look.entry)) return false;
  const auto acts =
      look.gang().acts_to_stop([this](const std::string& uid) { return cluster_.may_come(uid); });
  const bool stops = std::ranges::any_of(
      acts, [](const GangAct& act) { return act.kind != GangAct::Kind::kResume; });
  return look.entry.is_here && stops && !cluster_.objection(look.gang()).empty();
}

// Returns true if the engine got the report of a failed stop, and no report yet that the gang left its place after all.
bool Reconciler::has_failed_stop(const Look& look) const {
  return std::ranges::any_of(look.wish.leaving, [&](RunId run) {
    const auto stopping = tables_->stopping.find({look.entry.job, run});
    return stopping != tables_->stopping.end() && stopping->second.has_failed;
  });
}

// Marks a gang whose GPUs are gone for the engine: the stop of its run failed, the engine never placed it, or it is
// finished.
void Reconciler::settle_beyond(Look& look) const {
  Assignment& wish = look.wish;
  const bool is_over = look.owner().state != Owner::State::kHere;
  const bool is_beyond = has_failed_stop(look) ||
                         (wish.leaving.empty() && (is_over || (!wish.runs && is_stuck(look))));
  if (std::exchange(wish.is_beyond, is_beyond) == is_beyond) return;
  for (const auto& [uid, pod] : look.gang().pods()) look.out.nodes.insert(pod.node);
}

// Returns true if the gang must have no place, because its pods cannot be bound. A gang that is not the engine's yet
// waits for them from the beginning.
bool Reconciler::settle_missing(Look& look) {
  const bool is_due = !look.wish.runs || look.wish.is_clear;
  if (look.owner().state != Owner::State::kHere || look.wish.is_started) {
    missing_.forget(look.key);
    return false;
  }
  if (!is_due || !look.wish.leaving.empty()) return missing_.rest(look.key, look.now);
  const std::string before = missing_.why(look.key);
  const std::string why = unbindable(look.gang(), cluster_, look.wish.runs);
  const bool is_out = missing_.look(look.key, why, look.wish.runs, look.now);
  if (is_out && missing_.why(look.key) != before) look.out.missing = missing_.why(look.key);
  return is_out || (look.entry.job.is_none() && !why.empty());
}

// Reports a user's hold and its release: a suspension that is not Fairlead's is the user's, and the user ends it.
// A gang that lacks pods, that does not leave its place, or that Kueue evicts until it has left, is held too, because it
// cannot be placed; and one that the order of gangs keeps from GPUs.
bool Reconciler::settle_hold(Look& look) {
  const Owner& owner = look.owner();
  const JobId job = look.entry.job;
  if (!tables_->jobs.is_here(job) || owner.state != Owner::State::kHere) return false;
  const bool is_leaving = std::ranges::any_of(
      look.gang().pods(), [](const auto& entry) { return entry.second.is_leaving; });
  const bool lacks_pods = !owner.is_complete() && !look.wish.runs && !is_leaving;
  look.wish.is_evicted = look.wish.is_evicted && is_leaving;
  const bool is_missing = settle_missing(look);
  look.wish.is_held = owner.is_held_by_user() || lacks_pods || is_missing ||
                      has_failed_stop(look) || is_stuck(look);
  // One that Kueue evicts takes part in the order meanwhile, so that it is not placed before the order has decided.
  const bool is_wanted =
      look.wish.is_held || look.wish.is_evicted || order_.block_of(job) != nullptr;
  if (is_wanted == is_held_open(*tables_, job)) return false;
  report(look, {.kind = is_wanted ? EventKind::kHeld : EventKind::kReleased, .job = job});
  return true;
}

void Reconciler::give_up(Look& look, EventKind kind, std::string reason) const {
  look.wish.runs = false;
  look.wish.broken = Time::never();
  report(look, {.kind = kind, .job = look.entry.job, .run = look.wish.run}, std::move(reason));
}

void Reconciler::settle_run(Look& look) {
  Assignment& wish = look.wish;
  note_wait(wish, look.gang(), cluster_, look.now);
  if (!wish.is_clear && look.now < start_due(wish)) {
    // Its earlier pods go first, unless the gang rests at the place where it runs next.
    if (turns_.runs_in_place(look.gang(), wish.where)) {
      report_stopped(look);
      look.out.gangs.insert(look.key);
      return;
    }
    is_started_by_kueue(look.gang(), wish.leaving.empty(), cluster_) ? report_stopped(look)
                                                                     : settle_stop(look);
    if (!wish.is_clear) return;
  }
  if (look.gang().runs_at(wish.where)) {
    wish.broken = Time::never();
    if (settle_thaw(look)) return;
    if (std::exchange(wish.is_started, true)) return ask(look, acts_to_run(look).acts);
    return report(look, {.kind = EventKind::kStarted,
                         .job = look.entry.job,
                         .run = wish.run,
                         .overhead = look.now - wish.start});
  }
  if (wish.is_started) return settle_broken(look);
  const std::string trouble = look.gang().trouble(wish.where);
  if (!trouble.empty()) return give_up(look, EventKind::kStartFailed, trouble);
  if (look.now >= start_due(wish) && !look.gang().is_pinned()) {
    const std::string lacks = room_of(look).why;
    return give_up(look, EventKind::kStartFailed,
                   lacks.empty() ? "its pods did not run in time" : lacks);
  }
  const auto runs = [this](const std::string& key) { return of(key).runs; };
  for (std::string& sent : turns_.make_room(look.gang(), wish.where, runs)) {
    look.out.gangs.insert(std::move(sent));
  }
  VolumeActs next = acts_to_run(look);
  if (!next.node.empty() && !look.gang().is_pinned()) {
    look.out.short_node = next.node;
    return give_up(look, EventKind::kStartFailed,
                   fmt::format("node {} cannot have the volumes of its pod", next.node));
  }
  if (!next.acts.empty() && has_room(look)) ask(look, std::move(next.acts));
}

// Returns true if the gang is frozen or may be, although its pods run for their kubelets: it waits for its
// GPUs and for its agents.
bool Reconciler::settle_thaw(Look& look) const {
  if (!look.owner().has_slots || is_thawed(look.gang())) return false;
  if (!look.wish.is_started && look.now >= start_due(look.wish)) {
    give_up(look, EventKind::kStartFailed, "its pods were not thawed in time");
    return true;
  }
  ask(look, acts_to_thaw(look.gang(), cluster_.residents()));
  return true;
}

// Ends the gang after a while, because not all of its pods run any more.
void Reconciler::settle_broken(Look& look) const {
  const std::string trouble = look.gang().trouble(look.wish.where);
  look.wish.broken = std::min(look.wish.broken, look.now);
  if (look.owner().is_of_kueue() && !look.owner().pending.empty()) {
    // It is held until it has left. Else the policy would place it again at once, before the gang for which it leaves.
    look.wish.is_evicted = true;
    look.wish.broken = Time::never();
    look.out.explanation = {"Stopped", look.owner().pending};
    return report(look, {.kind = EventKind::kHeld, .job = look.entry.job});
  }
  if (look.now >= look.wish.broken + broken_limit(look.owner())) {
    return give_up(look, EventKind::kEvicted,
                   trouble.empty() ? "one of its pods is gone" : trouble);
  }
  // A pod that its owner made for a pod that has ended or gone takes the place of that pod.
  if (trouble.empty()) ask(look, acts_to_run(look).acts);
}

VolumeActs Reconciler::acts_to_run(const Look& look) const {
  const auto fits = [&](const std::string& node, std::uint32_t gpus) {
    return look.owner().has_slots ? turns_.fits(look.gang(), look.wish.where, node)
                                  : cluster_.fits(node, gpus, look.key);
  };
  const auto suits = [&](const Pod& pod, const std::string& node) {
    const Node* const found = cluster_.node(node);
    VolumeChoices choices;
    return pod.claims.empty() ||
           (found != nullptr && cluster_.volumes()
                                    .needs({pod.name_space, pod.uid, pod.claims}, *found, choices)
                                    .has_value());
  };
  VolumeActs acts =
      with_volumes(look.gang(), cluster_, look.gang().acts_to_run(look.wish.where, fits, suits));
  acts.acts = with_devices(look.gang(), cluster_, std::move(acts.acts));
  return acts;
}

void Reconciler::settle_stop(Look& look) {
  switch (turns_.rest(look.entry, look.now)) {
    case SlotTurns::Rest::kRests:
      return report_stopped(look);
    case SlotTurns::Rest::kWaits:
      return ask(look, acts_to_rest(look.gang(), cluster_.residents()));
    case SlotTurns::Rest::kLeaves:
      break;
  }
  if (is_stuck(look)) return settle_stuck(look);
  const auto comes = [this](const std::string& uid) { return cluster_.may_come(uid); };
  std::vector<GangAct> acts = look.gang().acts_to_stop(comes);
  const bool waits = may_wait_for_preemption(look.gang(), look.wish);
  if (waits && order_.is_above_running(look.key, *tables_)) acts.clear();
  if (look.entry.is_here && !acts.empty()) return ask(look, std::move(acts));
  // A binding whose answer was lost may still take effect, as long as its pod exists.
  if (!is_away(look.gang(), cluster_) || look.gang().may_be_bound(comes)) return;
  turns_.forget(look.key);
  report_stopped(look);
}

// Reports the end of its stopped runs: their GPUs are free, for other gangs or for its next run.
void Reconciler::report_stopped(Look& look) const {
  look.wish.is_clear = true;
  for (RunId run : std::exchange(look.wish.leaving, {})) {
    report(look, {.kind = EventKind::kStopped, .job = look.entry.job, .run = run});
  }
}

// Reports that the stop failed: the gang keeps running on its GPUs. Its later runs never had GPUs, so they are reported
// as stopped.
void Reconciler::settle_stuck(Look& look) const {
  std::vector<RunId>& leaving = look.wish.leaving;
  if (leaving.empty()) return;
  const RunId first = leaving.front();
  for (RunId run : leaving) {
    if (run == first) continue;
    report(look, {.kind = EventKind::kStopped, .job = look.entry.job, .run = run});
  }
  leaving = {first};
  const auto stopping = tables_->stopping.find({look.entry.job, first});
  if (stopping == tables_->stopping.end() || stopping->second.has_failed) return;
  std::string why = cluster_.objection(look.gang());
  look.out.explanation = {"NotStopped", why};
  report(look, {.kind = EventKind::kStopFailed, .job = look.entry.job, .run = first},
         std::move(why));
}

void Reconciler::ask(Look& look, std::vector<GangAct> acts) const {
  if (acts.empty()) return;
  switch (acts.front().kind) {
    case GangAct::Kind::kSuspend:
      if (look.gang().pods().empty()) break;  // it had no turn
      look.out.when_sent = {"Suspended", "its turn is over; it goes on from its checkpoint"};
      break;
    case GangAct::Kind::kEvict:
      look.out.when_sent = {"Evicted", "its turn is over; it goes on from its checkpoint"};
      break;
    case GangAct::Kind::kBind:  // once it has started, these are riders that came late
      if (!look.wish.is_started)
        look.out.when_sent = {"Placed", places_text(look.wish.where, look.owner())};
      break;
    case GangAct::Kind::kResume:
      if (look.owner().state == Owner::State::kLeft)
        look.out.when_sent = {"Released", "its queue does not count any more"};
      else if (look.owner().is_of_kueue())
        look.out.when_sent = {"Placed", "its turn begins once Kueue admits it"};
      break;
    case GangAct::Kind::kVolume:
    case GangAct::Kind::kDevice:
    case GangAct::Kind::kThaw:
    case GangAct::Kind::kFreeze:
    case GangAct::Kind::kMark:
      break;
  }
  look.out.acts = std::move(acts);
}

// --- Room -----------------------------------------------------------------------------------------

// A pod that is on a node, or was sent there, is wanted there; else it is about to go.
bool Reconciler::stays(const Pod& pod, const std::string& node) const {
  if (pod.is_leaving) return false;
  const GangBook::Entry* const entry = gangs_.find(pod.gang);
  if (entry == nullptr) return true;
  const Assignment& wish = of(pod.gang);
  if (wish.is_beyond || entry->gang.is_pinned()) return true;
  // Until is_clear, its pods belong to an earlier run.
  return wish.runs && wish.is_clear &&
         std::ranges::find(wish.where, node, &GangPlace::node) != wish.where.end();
}

Room Reconciler::room_of(const Look& look) const {
  return room_for(look.gang(), look.wish.where, cluster_,
                  [this](const Pod& pod, const std::string& node) { return stays(pod, node); });
}

// The start has failed if there is no room, and none may come.
bool Reconciler::has_room(Look& look) {
  const Room room = room_of(look);
  if (room.is_there) return true;
  if (!room.may_come && !look.gang().is_pinned()) {
    // The policy cannot see that, and would place it there again.
    look.out.short_node = room.node;
    give_up(look, EventKind::kStartFailed, room.why);
  } else if (look.owner().has_slots) {
    // Gangs that rest in place there go, one after the other.
    const auto runs = [this](const std::string& key) { return of(key).runs; };
    if (auto sent = turns_.send_away(room.node, ~0ULL, runs)) {
      look.out.gangs.insert(*std::move(sent));
    }
  }
  return false;
}

}  // namespace fairlead
