// What the engine wants of gangs and nodes, and what there is, brought together.
#include "fairlead/pods/pods_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fairlead {

void PodsWorld::settle_all() {
  if (tables_ == nullptr) return;
  ask_queued();
  end_rests(door_.now());
  explain_refusals();
  if (std::exchange(is_suspect_, false)) check_inventory();
  if (spoken_nodes_.empty()) {
    for (const std::string& name : std::exchange(touched_nodes_, {})) {
      if (const auto row = node_rows_.find(name); row != node_rows_.end()) settle_node(row->second);
    }
  }
  for (UserId user : ids<UserId>(tables_->users.size())) {
    const std::int64_t tickets = tickets_of(tables_->users.names[user]);
    if (tickets == tables_->users.tickets[user] || !spoken_users_.insert(user).second) continue;
    inbox_.add({.kind = EventKind::kTickets, .user = user, .tickets = tickets});
  }
  touch_due();
  std::set<std::string> later;
  for (const std::string& uid : std::exchange(touched_, {})) {
    const auto found = gangs_.find(uid);
    if (found == gangs_.end()) continue;
    if (spoken_.contains(uid)) {
      later.insert(uid);
      continue;
    }
    settle(found->second);
    if (is_over(found->second)) forget(uid);
  }
  touched_.merge(later);
}

// Those for which some time has come.
void PodsWorld::touch_due() {
  const Time now = door_.now();
  for (auto& [uid, gang] : gangs_) {
    const bool is_late = gang.runs && !gang.is_started && gang.begun + options_.start_limit <= now;
    const bool is_due = std::min(gang.retry, gang.rest_due) <= now;
    const bool is_gone = gang.absent != Time::never() && gang.absent + options_.absent_limit <= now;
    if (gang.retry <= now) gang.retry = Time::never();
    if (is_gone) {
      gang.is_here = false;
      gang.absent = Time::never();
    }
    if (is_due || is_late || is_gone || gang.broken != Time::never()) touch(gang);
  }
}

bool PodsWorld::is_over(const Gang& gang) const {
  if (gang.is_here || spoken_.contains(gang.view.owner().key)) return false;
  return gang.job.is_none() || (gang.leaving.empty() && !tables_->jobs.is_here(gang.job));
}

// The engine is told one thing of a gang at a time, so that what follows rests on what it made of it.
void PodsWorld::say(Gang& gang, const Event& event) {
  inbox_.add(event);
  spoken_.insert(gang.view.owner().key);
  touch(gang);
}

// As many GPUs as pods of others leave are up; which of them does not matter.
void PodsWorld::settle_node(NodeId node) {
  const std::string& name = tables_->cluster.node_names[node];
  const Tables::NodeState& state = tables_->nodes[node];
  const auto found = nodes_.find(name);
  const bool is_there = found != nodes_.end() && found->second.is_ready;
  if (!is_there) {
    if (state.up != 0) say(node, {.kind = EventKind::kGpusDown, .node = node});
    return;
  }
  const bool is_cordoned = tables_->cordoned.contains(node);
  if (found->second.is_cordoned != is_cordoned) {
    say(node, {.kind = is_cordoned ? EventKind::kUncordoned : EventKind::kCordoned,
               .node = node,
               .reason = "it is unschedulable"});
  }
  const std::uint32_t others = taken(name, true);
  const auto has = static_cast<std::uint32_t>(std::popcount(state.has));
  const auto up = static_cast<std::uint32_t>(std::popcount(state.up));
  std::uint32_t wanted = std::min(has, found->second.gpus - std::min(others, found->second.gpus));
  if (resting_.contains(name)) {
    wanted = std::min(wanted, static_cast<std::uint32_t>(std::popcount(state.up & ~state.free)));
  }
  std::uint64_t mask = 0;
  std::uint64_t choice = up > wanted ? state.up & state.free : state.has & ~state.up;
  for (std::uint32_t left = up > wanted ? up - wanted : wanted - up; left > 0 && choice != 0;
       --left) {
    const std::uint64_t bit = std::bit_floor(choice);
    mask |= bit;
    choice &= ~bit;
  }
  if (mask == 0) return;
  say(node, {.kind = up > wanted ? EventKind::kGpusDown : EventKind::kGpusUp,
             .node = node,
             .gpus = mask});
}

void PodsWorld::say(NodeId node, const Event& event) {
  inbox_.add(event);
  spoken_nodes_.insert(node);
  touched_nodes_.insert(tables_->cluster.node_names[node]);
}

void PodsWorld::settle(Gang& gang) {
  settle_beyond(gang);
  if (gang.job.is_none()) return announce(gang);
  if (settle_end(gang) || settle_hold(gang) || settle_shape(gang)) return;
  if (gang.runs) {
    settle_run(gang);
  } else {
    settle_stop(gang);
  }
}

void PodsWorld::announce(Gang& gang) {
  const Owner& owner = gang.view.owner();
  if (!gang.is_here || owner.state != Owner::State::kHere || !owner.is_complete) return;
  if (has_no_node(gang)) return;
  gang.job = JobId(next_job_++);
  spoken_.insert(owner.key);
  touch(gang);
  keys_[gang.job] = owner.key;
  inbox_.add(spec_of(gang, user_of(owner.name_space), tables_->cluster));
}

// REQUIRES: its job was numbered. What the engine is told of its shape is remembered.
JobSpec PodsWorld::spec_of(Gang& gang, UserId user, const Cluster& cluster) {
  const Owner& owner = gang.view.owner();
  gang.pods = owner.pods;
  gang.pod_gpus = owner.pod_gpus;
  const std::uint32_t gpus = owner.pods * owner.pod_gpus;
  return {.job = gang.job,
          .user = user,
          .name = inbox_.keep(fmt::format("{}/{}", owner.name_space, owner.name)),
          .model = inbox_.keep(owner.model),
          .gpus = gpus,
          .gpus_min = gpus,
          .gpus_max = gpus,
          .task_gpus = owner.pod_gpus,
          .extras = kSubmittedExtras,
          .types = types_named(inventory_->kinds_for(owner.needs), cluster),
          .work = owner.time,
          .submit = now()};
}

UserId PodsWorld::user_of(const std::string& name_space) {
  const auto& names = tables_->users.names;
  for (UserId user : ids<UserId>(names.size())) {
    if (names[user] == name_space) return user;
  }
  for (const UserSpec& user : inbox_.users()) {
    if (user.name == name_space) return user.user;
  }
  const UserId user(names.size() + inbox_.users().size());
  inbox_.add(
      UserSpec{.user = user, .name = inbox_.keep(name_space), .tickets = tickets_of(name_space)});
  return user;
}

// True if its Job is over, and the engine was told.
bool PodsWorld::settle_end(Gang& gang) {
  if (!tables_->jobs.is_here(gang.job)) return false;
  const Owner& owner = gang.view.owner();
  const HoldId hold = tables_->jobs.hold[gang.job];
  if (gang.is_here && owner.state == Owner::State::kHere) return false;
  gang.runs = false;
  if (!gang.is_here || hold == 0) {  // it may be over before it had a turn
    say(gang, {.kind = EventKind::kCancelled, .job = gang.job});
  } else if (owner.state == Owner::State::kFinished) {
    say(gang, {.kind = EventKind::kFinished, .job = gang.job, .hold = hold});
  } else {
    say(gang, {.kind = EventKind::kFailed,
               .job = gang.job,
               .hold = hold,
               .reason = inbox_.keep(owner.reason)});
  }
  return true;
}

// One whose pods are not as many or as large as the engine was told is another job, once it has left
// its place. True if the engine is told, or was told only now.
bool PodsWorld::settle_shape(Gang& gang) {
  const Owner& owner = gang.view.owner();
  const bool is_same = gang.pods == owner.pods && gang.pod_gpus == owner.pod_gpus;
  const bool is_here = gang.is_here && owner.state == Owner::State::kHere && owner.is_complete;
  if (is_same || !is_here || gang.runs || !gang.leaving.empty()) return false;
  if (tables_->jobs.is_here(gang.job)) {
    say(gang, {.kind = EventKind::kCancelled, .job = gang.job});
    return true;
  }
  keys_.erase(gang.job);
  gang.job = JobId::none();
  gang.hold = 0;
  announce(gang);
  return true;
}

// Why it is not to be stopped now, although the engine wants that; empty: nothing speaks against it.
std::string PodsWorld::objection(const Gang& gang) const {
  const Owner& owner = gang.view.owner();
  if (gang.view.is_pinned()) {
    return owner.is_bare ? "its pods have no controller that would make them again"
                         : fmt::format("it says {}: false", kPreemptible);
  }
  return owner.is_held ? std::string() : budgets_.objection(gang.view.pods());
}

// It has GPUs that it is to leave, and does not.
bool PodsWorld::is_stuck(const Gang& gang) const {
  if ((gang.runs && gang.is_clear) || may_rest(gang)) return false;
  const auto acts = gang.view.acts_to_stop([this](const auto& uid) { return may_come(uid); });
  const bool stops = std::ranges::any_of(
      acts, [](const GangAct& act) { return act.kind != GangAct::Kind::kResume; });
  return gang.is_here && stops && !objection(gang).empty();
}

// The engine was told that a stop has failed, and not yet that the gang has left its place after all.
bool PodsWorld::has_failed_stop(const Gang& gang) const {
  return std::ranges::any_of(gang.leaving, [&](HoldId hold) {
    const auto stopping = tables_->stopping.find({gang.job, hold});
    return stopping != tables_->stopping.end() && stopping->second.has_failed;
  });
}

// GPUs of a hold whose stop failed are gone for the engine, and so are those of a gang that it never
// placed, or that is over.
void PodsWorld::settle_beyond(Gang& gang) {
  const bool is_over = gang.view.owner().state != Owner::State::kHere;
  const bool is_beyond = has_failed_stop(gang) ||
                         (gang.leaving.empty() && (is_over || (!gang.runs && is_stuck(gang))));
  if (std::exchange(gang.is_beyond, is_beyond) == is_beyond) return;
  for (const auto& [uid, pod] : gang.view.pods()) touched_nodes_.insert(pod.node);
}

// A suspension that is not ours is its user's, who lets it go on as well. What is not all there, or
// does not leave its place, cannot be placed either. True if that is news.
bool PodsWorld::settle_hold(Gang& gang) {
  const Owner& owner = gang.view.owner();
  if (!tables_->jobs.is_here(gang.job) || owner.state != Owner::State::kHere) return false;
  const bool is_leaving = std::ranges::any_of(
      gang.view.pods(), [](const auto& entry) { return entry.second.is_leaving; });
  const bool lacks_pods = !owner.is_complete && !gang.runs && !is_leaving;
  const bool is_wanted =
      owner.is_held_by_user() || lacks_pods || has_failed_stop(gang) || is_stuck(gang);
  const auto until = tables_->held_until.find(gang.job);
  const bool is_held = until != tables_->held_until.end() && until->second == Time::never();
  if (is_wanted == is_held) return false;
  say(gang, {.kind = is_wanted ? EventKind::kHeld : EventKind::kReleased, .job = gang.job});
  return true;
}

void PodsWorld::give_up(Gang& gang, EventKind kind, std::string reason) {
  gang.runs = false;
  gang.broken = Time::never();
  say(gang,
      {.kind = kind, .job = gang.job, .hold = gang.hold, .reason = inbox_.keep(std::move(reason))});
}

void PodsWorld::settle_run(Gang& gang) {
  const Time now = door_.now();
  if (!gang.is_clear && now < gang.begun + options_.start_limit) {
    // What it had before goes first, unless it rests where it is to run.
    if (settle_residence(gang)) return;
    settle_stop(gang);
    if (!gang.is_clear) return;
  }
  if (gang.view.runs_at(gang.where)) {
    gang.broken = Time::never();
    if (settle_thaw(gang)) return;
    if (std::exchange(gang.is_started, true)) return ask(gang, acts_to_run(gang));
    return say(gang, {.kind = EventKind::kStarted,
                      .job = gang.job,
                      .hold = gang.hold,
                      .overhead = now - gang.begun});
  }
  if (gang.is_started) return settle_broken(gang);
  const std::string trouble = gang.view.trouble(gang.where);
  if (!trouble.empty()) return give_up(gang, EventKind::kStartFailed, trouble);
  if (now >= gang.begun + options_.start_limit && !gang.view.is_pinned()) {
    const std::string lacks = room_for(gang).why;
    return give_up(gang, EventKind::kStartFailed,
                   lacks.empty() ? "its pods did not run in time" : lacks);
  }
  make_room(gang);
  const std::vector<GangAct> acts = acts_to_run(gang);
  if (!acts.empty() && has_room(gang)) ask(gang, acts);
}

// It ran, and not all of it does.
void PodsWorld::settle_broken(Gang& gang) {
  const std::string trouble = gang.view.trouble(gang.where);
  gang.broken = std::min(gang.broken, door_.now());
  if (door_.now() >= gang.broken + options_.broken_limit) {
    return give_up(gang, EventKind::kEvicted, trouble.empty() ? "a pod of it is gone" : trouble);
  }
  // What its owner has made in the place of one that is done or gone takes that place.
  if (trouble.empty()) ask(gang, acts_to_run(gang));
}

std::vector<GangAct> PodsWorld::acts_to_run(const Gang& gang) const {
  return gang.view.acts_to_run(gang.where, [&](const std::string& node, std::uint32_t gpus) {
    return gang.view.owner().has_slots ? fits_slots(gang, node) : fits(node, gpus);
  });
}

void PodsWorld::settle_stop(Gang& gang) {
  if (settle_rest(gang)) return;
  if (is_stuck(gang)) return settle_stuck(gang);
  const auto comes = [this](const std::string& uid) { return may_come(uid); };
  const std::vector<GangAct> acts = gang.view.acts_to_stop(comes);
  if (gang.is_here && !acts.empty()) return ask(gang, acts);
  if (!gang.view.is_away([this](const std::string& node) { return is_lost(node); })) return;
  // A binding whose answer was lost may yet come true, as long as its pod is there.
  if (gang.view.may_be_bound(comes)) return;
  gang.goes = false;
  tell_stopped(gang);
}

// Its GPUs are free for others, or for itself.
void PodsWorld::tell_stopped(Gang& gang) {
  gang.is_clear = true;
  for (HoldId hold : std::exchange(gang.leaving, {})) {
    say(gang, {.kind = EventKind::kStopped, .job = gang.job, .hold = hold});
  }
}

// It goes on where it is: the engine hears that its GPUs are not to be had. Holds that were begun since
// never had any.
void PodsWorld::settle_stuck(Gang& gang) {
  if (gang.leaving.empty()) return;
  const HoldId first = gang.leaving.front();
  for (HoldId hold : gang.leaving) {
    if (hold != first) say(gang, {.kind = EventKind::kStopped, .job = gang.job, .hold = hold});
  }
  gang.leaving = {first};
  const auto stopping = tables_->stopping.find({gang.job, first});
  if (stopping == tables_->stopping.end() || stopping->second.has_failed) return;
  std::string why = objection(gang);
  explain(gang, "NotStopped", why);
  say(gang, {.kind = EventKind::kStopFailed,
             .job = gang.job,
             .hold = first,
             .reason = inbox_.keep(std::move(why))});
}

}  // namespace fairlead
