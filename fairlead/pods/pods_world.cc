#include "fairlead/pods/pods_world.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/kube/lease.h"
#include "fairlead/pods/in_place.h"
#include "fairlead/pods/tickets.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

namespace fairlead {
namespace {

// That are taken before anything else is done: where they never cease, the Lease is to be renewed.
constexpr int kEventsMax = 500;

std::uint64_t low_bits(std::uint32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

PodsWorld::PodsWorld(KubeDoor& door, PodsOptions options, Lease* lease)
    : door_(door),
      options_(options),
      lease_(lease),
      reflected_owners_(door, [this](const OwnerKind& kind,
                                     const ReflectedChange& change) { on_owner(kind, change); }),
      reflected_nodes_(door, "/api/v1/nodes", "",
                       [this](const ReflectedChange& change) { on_node(change); }),
      reflected_pods_(door, "/api/v1/pods", "",
                      [this](const ReflectedChange& change) { on_pod(change); }),
      reflected_budgets_(door, "/apis/policy/v1/poddisruptionbudgets", "",
                         [this](const ReflectedChange& change) { on_budget(change); }),
      reflected_settings_(door, fmt::format("/api/v1/namespaces/{}/configmaps", options.name_space),
                          "fieldSelector=metadata.name%3Dfairlead",
                          [this](const ReflectedChange& change) { on_settings(change); }) {}

PodsWorld::~PodsWorld() = default;

Status PodsWorld::sync(Time until) {
  for (;;) {
    wake();
    const auto late = std::ranges::find_if(
        reflectors_, [](const Reflector* reflector) { return !reflector->is_synced(); });
    if (late == reflectors_.end() && reflected_owners_.is_synced()) return {};
    if (door_.now() >= until) {
      const std::string trouble =
          late == reflectors_.end() ? reflected_owners_.trouble() : (*late)->trouble();
      return run_error("the API server does not say what there is: {}",
                       trouble.empty() ? "it is silent" : trouble);
    }
    take(door_.wait(std::min(until, deadline())));
  }
}

std::vector<const Reflector*> PodsWorld::reflectors() const {
  std::vector<const Reflector*> all = reflected_owners_.reflectors();
  all.insert(all.end(), reflectors_.begin(), reflectors_.end());
  return all;
}

std::vector<NodeSpec> PodsWorld::nodes() {
  inventory_.emplace(nodes_, asked_of_nodes(), options_.rack_labels);
  is_suspect_ = false;
  return inventory_->specs();
}

void PodsWorld::await_nodes() {
  const auto leads = [this] { return lease_ == nullptr || lease_->is_leader(door_.now()); };
  while (nodes().empty() && !leaves_ && leads()) {
    wake();
    take(door_.wait(deadline()));
  }
}

RecordedRun PodsWorld::found(const Cluster& cluster) {
  RecordedRun run;
  const Time now = this->now();
  number(cluster);
  run.on({now, record::Run{.cluster = cluster.name, .trace = "live"}});
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    run.on({now, record::Node{.node = node,
                              .name = cluster.node_names[node],
                              .type = cluster.node_type[node],
                              .host = cluster.node_host[node],
                              .rack = cluster.node_rack[node],
                              .gpus = cluster.node_gpus[node]}});
  }
  Found found{.run = run, .cluster = cluster};
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    found.free.push_back(low_bits(cluster.node_gpus[node]));
  }
  const IdVector<NodeId, std::uint64_t> all = found.free;
  for (auto& [key, gang] : gangs_) {
    gang.where = gang.view.found_at();
    gang.view.begin();
  }
  // Those that rest in place had their turns there before those that run.
  for (auto& [uid, gang] : gangs_) {
    if (!gang.view.owner().has_slots || is_to_run(gang.view) || !is_resident(gang.view)) continue;
    find(gang, found);
    found.free = all;
    if (gang.job.is_none()) continue;
    run.on({now, record::Stop{.job = gang.job}});
    gang.runs = false;
  }
  for (auto& [uid, gang] : gangs_) {
    const bool runs = !gang.view.owner().has_slots || is_to_run(gang.view);
    if (gang.job.is_none() && runs) find(gang, found);
  }
  return run;
}

void PodsWorld::number(const Cluster& cluster) {
  for (NodeId node : ids<NodeId>(cluster.nodes())) node_rows_[cluster.node_names[node]] = node;
}

// A gang that is where it was placed before this scheduler began.
void PodsWorld::find(Gang& gang, Found& found) {
  const Owner& owner = gang.view.owner();
  if (owner.state != Owner::State::kHere || owner.is_suspended) return;
  const std::optional<FoundGang> held = held_by(gang, found.free);
  if (!held) return;
  const Time now = door_.now();
  const auto [user, is_new] = found.users.try_emplace(owner.name_space, found.users.size());
  if (is_new)
    found.run.on({now, record::User{user->second, owner.name_space, tickets_of(owner.name_space)}});
  gang.job = JobId(next_job_++);
  keys_[gang.job] = owner.key;
  gang.hold = 1;
  gang.begun = now;
  gang.runs = gang.is_clear = true;
  JobSpec spec = spec_of(gang, user->second, found.cluster);
  // What it runs on was right when it was placed there.
  for (Slice slice : held->slices) spec.types |= type_bit(found.cluster.node_type[slice.node]);
  found.run.on({now, record::Arrived{spec}});
  found.run.on({now, record::Place{.job = gang.job,
                                   .gang = held->slices,
                                   .gpu_masks = held->masks,
                                   .rate = {},
                                   .is_reported = true}});
}

// The slices of a gang that is bound, with GPUs of `free`, which are no longer; none: it is not.
std::optional<PodsWorld::FoundGang> PodsWorld::held_by(
    const Gang& gang, IdVector<NodeId, std::uint64_t>& free) const {
  FoundGang found;
  for (const GangPlace& place : gang.where) {
    const auto row = node_rows_.find(place.node);
    if (row == node_rows_.end()) return std::nullopt;
    const std::uint32_t gpus = place.pods * gang.view.owner().pod_gpus;
    if (static_cast<std::uint32_t>(std::popcount(free[row->second])) < gpus) return std::nullopt;
    found.slices.push_back({row->second, static_cast<std::uint16_t>(gpus)});
  }
  if (found.slices.empty()) return std::nullopt;
  std::ranges::sort(found.slices, {}, &Slice::node);
  for (Slice slice : found.slices) {
    std::uint64_t& left = free[slice.node];
    std::uint64_t mask = lowest_gpus(left, slice.gpus);
    if (gang.view.owner().has_slots) {
      const auto place = std::ranges::find_if(
          gang.where, [&](const GangPlace& at) { return node_rows_.at(at.node) == slice.node; });
      mask = place->gpus;
      if (std::popcount(mask) != slice.gpus || (mask & ~left) != 0) return std::nullopt;
    }
    left &= ~mask;
    found.masks.push_back(mask);
  }
  return found;
}

void PodsWorld::attach(const Tables& tables) {
  tables_ = &tables;
  for (const auto& [name, row] : node_rows_) touched_nodes_.insert(name);
  for (auto& [uid, gang] : gangs_) touch(gang);
}

void PodsWorld::adopt(const Tables& tables, const std::map<JobId, std::string>& owners) {
  number(tables.cluster);
  next_job_ = tables.jobs.size();
  attach(tables);
  for (auto& [key, gang] : gangs_) gang.view.begin();
  for (const auto& [job, key] : owners) adopt(job, key);
  for (auto& [uid, gang] : gangs_) {
    const std::vector<GangPlace> at = gang.view.found_at();
    const bool is_known = gang.runs && at == gang.where;
    if (!at.empty() && !is_known) gang.retry = door_.now() + options_.broken_limit;
  }
}

void PodsWorld::adopt(JobId job, const std::string& key) {
  const Jobs& jobs = tables_->jobs;
  if (!jobs.is_here(job)) return;
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) {  // its owner has gone meanwhile
    inbox_.add(Event{.kind = EventKind::kCancelled, .job = job});
    return;
  }
  Gang& gang = found->second;
  gang.job = job;
  keys_[job] = key;
  gang.pod_gpus = jobs.task_gpus[job];
  gang.pods = jobs.gpus_max[job] / gang.pod_gpus;
  gang.hold = jobs.hold[job];
  // It may be that it needed something else when it was told of.
  const TypeMask open =
      types_named(inventory_->kinds_for(gang.view.owner().needs), tables_->cluster);
  if ((jobs.types[job] & ~open) != 0) outgrow();
  if (jobs.state[job] != JobState::kRunning) return;
  gang.runs = gang.is_clear = true;
  gang.is_started = !jobs.is_starting(job);
  gang.begun = door_.now();
  gang.where = places_of(gang, jobs.last_gang(job), jobs.gangs.gpu_masks(jobs.last[job]));
}

// --- What there is ----------------------------------------------------------------------------

void PodsWorld::on_node(const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) return;
  const std::string& name = change.name.second;
  if (change.kind == ReflectedChange::Kind::kDeleted) {
    nodes_.erase(name);
  } else {
    Node now = parse_node(*change.object);
    Node& before = nodes_[name];
    if (before.allocatable != now.allocatable) end_rest(name);
    const auto facts = [](const Node& of) {
      return std::tie(of.labels, of.taints, of.gpus_all, of.slots_per_gpu, of.allocatable);
    };
    is_suspect_ |= facts(before) != facts(now);
    before = std::move(now);
  }
  touched_nodes_.insert(name);
  // What has to wait for its GPUs, or is lost with it.
  for (auto& [uid, gang] : gangs_) touch(gang);
}

// Tickets by namespace. What cannot be read leaves all as it was.
void PodsWorld::on_settings(const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) return;
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  auto tickets = parse_tickets(is_gone ? "" : text_at(*change.object, {"data", "tickets"}));
  if (!tickets) return explain(*change.object, "Refused", tickets.error().message);
  tickets_ = *std::move(tickets);
}

std::int64_t PodsWorld::tickets_of(const std::string& name_space) const {
  const auto found = tickets_.find(name_space);
  return found == tickets_.end() ? 1 : found->second;
}

bool PodsWorld::is_lost(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() || !found->second.is_ready;
}

std::uint32_t PodsWorld::taken(const std::string& node, bool by_others) const {
  std::uint32_t gpus = 0;
  for (const auto& [uid, asked] : asked_) {
    if (asked.node == node && may_come(uid) && !by_others) gpus += pods_.at(uid).gpus;
  }
  const auto on = pods_on_.find(node);
  if (on == pods_on_.end()) return gpus;
  for (const std::string& uid : on->second) {
    const Pod& pod = pods_.at(uid);
    if (pod.takes_gpus() && (!by_others || is_others(pod))) gpus += pod.gpus;
  }
  return gpus;
}

// Of no gang whose GPUs the engine knows of.
bool PodsWorld::is_others(const Pod& pod) const {
  const auto gang = gangs_.find(pod.gang);
  return gang == gangs_.end() || gang->second.is_beyond;
}

bool PodsWorld::may_come(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  return asked_.contains(uid) && pod != pods_.end() && pod->second.node.empty();
}

bool PodsWorld::fits(const std::string& node, std::uint32_t gpus) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.is_ready &&
         taken(node, false) + gpus <= found->second.gpus;
}

// --- The engine's side ------------------------------------------------------------------------

Time PodsWorld::deadline() const {
  Time due = reflected_owners_.wake_at();
  if (lease_ != nullptr) due = std::min(due, lease_->wake_at());
  for (const Reflector* reflector : reflectors_) due = std::min(due, reflector->wake_at());
  if (!queued_.empty() && calls_.size() < kCallsMax) due = Time{};
  if (outgrown_ > door_.now() || is_quiet()) due = std::min(due, outgrown_);
  for (const auto& [node, until] : resting_) due = std::min(due, until);
  for (const auto& [uid, gang] : gangs_) {
    if (gang.runs && !gang.is_started) due = std::min(due, gang.begun + options_.start_limit);
    if (gang.runs && gang.broken != Time::never()) {
      due = std::min(due, gang.broken + options_.broken_limit);
    }
    if (gang.absent != Time::never()) due = std::min(due, gang.absent + options_.absent_limit);
    due = std::min({due, gang.retry, gang.rest_due});
  }
  return due;
}

void PodsWorld::wake() {
  if (lease_ != nullptr) lease_->wake();
  reflected_owners_.wake();
  for (Reflector* reflector : reflectors_) reflector->wake();
  for (KubeListener* listener : listeners_) listener->wake();
}

Batch PodsWorld::wait(Time until, bool /*awaited*/) {
  settle_all();
  const Time latest = until == Time::never() ? until : until - shift_;
  Time due = inbox_.empty() ? std::min(latest, deadline()) : Time{};
  for (int left = kEventsMax; left > 0 && !leaves_; --left) {
    const KubeEvent event = door_.wait(due);
    if (event.kind == KubeEvent::Kind::kTime) break;
    take(event);
    due = Time{};
  }
  wake();
  settle_all();
  const Time now = this->now();
  spoken_.clear();
  spoken_nodes_.clear();
  spoken_users_.clear();
  const bool leads = lease_ == nullptr || lease_->is_leader(door_.now());
  if (!leads || is_outgrown() || (leaves_ && inbox_.empty())) {
    return {.now = std::min(now, until), .ended = true};
  }
  return inbox_.take(std::min(now, until), now);
}

std::span<const SpeedChange> PodsWorld::expect(Time /*now*/, std::span<Step> /*steps*/) {
  return {};
}

void PodsWorld::carry_out(Time /*now*/, std::span<const Step> steps) {
  std::set<JobId> stopped;
  for (const Step& step : steps) {
    Gang* const gang = gang_of(step.job);
    if (gang == nullptr) continue;
    touch(*gang);
    if (step.kind == Step::Kind::kStop) {
      if (gang->runs) stopped.insert(step.job);
      gang->runs = false;
      gang->leaving.push_back(step.hold);
      continue;
    }
    place(*gang, step);
    if (step.place != PlaceKind::kResume || !stopped.contains(step.job)) continue;
    // A policy that begins anew has left it where it runs.
    if (gang->view.owner().has_slots && !is_resident(gang->view, gang->where)) continue;
    tell_stopped(*gang);
  }
  settle_all();
}

void PodsWorld::place(Gang& gang, const Step& step) {
  gang.runs = true;
  gang.is_started = gang.is_clear = false;
  gang.broken = Time::never();
  gang.view.begin();
  gang.hold = step.hold;
  gang.begun = door_.now();
  gang.where = places_of(gang, step.gang, step.gpu_masks);
  // It was placed there by the scheduler before.
  const bool is_new = gang.leaving.empty() && gang.calls.empty();
  if (is_new && gang.view.found_at() == gang.where) gang.is_clear = true;
}

std::vector<GangPlace> PodsWorld::places_of(const Gang& gang, fairlead::Gang slices,
                                            std::span<const std::uint64_t> masks) const {
  std::vector<GangPlace> places;
  places.reserve(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    places.push_back({tables_->cluster.node_names[slices[i].node], slices[i].gpus / gang.pod_gpus,
                      gang.view.owner().has_slots ? masks[i] : 0});
  }
  std::ranges::sort(places, {}, &GangPlace::node);
  return places;
}

// An eviction that was not this world's own word, as of a node that is gone: what is left is to go.
void PodsWorld::on(const Record& record) {
  std::visit(
      Overloaded{
          [&](const record::Evicted& what) { lose(what.job, "a node or a pod of it is gone"); },
          [&](const record::StartFailed& what) { lose(what.job, what.reason); },
          [&](const record::Rejected& what) {
            Gang* const gang = gang_of(what.asked.job);
            if (gang != nullptr) explain(*gang, "Rejected", what.reason);
          },
          [](const auto&) {},
      },
      record.what);
}

void PodsWorld::lose(JobId job, std::string_view why) {
  Gang* const gang = gang_of(job);
  if (gang == nullptr) return;
  gang->runs = false;
  touch(*gang);
  for (const GangPlace& place : gang->where) {
    if (resting_.contains(place.node)) touched_nodes_.insert(place.node);
  }
  explain(*gang, "Stopped", why);
}

const PodGang* PodsWorld::view(JobId job) const {
  const auto key = keys_.find(job);
  const auto found = key == keys_.end() ? gangs_.end() : gangs_.find(key->second);
  return found == gangs_.end() ? nullptr : &found->second.view;
}

PodsWorld::Gang* PodsWorld::gang_of(JobId job) {
  const auto key = keys_.find(job);
  if (key == keys_.end()) return nullptr;
  const auto found = gangs_.find(key->second);
  return found == gangs_.end() ? nullptr : &found->second;
}

}  // namespace fairlead
