#include "fairlead/pods/gang_controller.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/levels.h"
#include "fairlead/pods/adoption.h"
#include "fairlead/pods/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

namespace fairlead {
namespace {

// Time from a refusal that may not be explained yet to the next attempt (chosen).
constexpr Duration kRefuseAgain = seconds(1);

// Returns the label of a level that the gang asks for and nodes do not have; empty: there is none.
std::string unknown_level(const Owner& owner, const NodeLevels& levels) {
  for (const std::string& label : {owner.required_level, owner.preferred_level}) {
    if (!label.empty() && !levels.level_of(label)) return label;
  }
  return {};
}

// REQUIRES: unknown_level() is empty.
Closeness closeness_of(const Owner& owner, const NodeLevels& levels) {
  const Level required = levels.level_of(owner.required_level).value_or(kAnywhere);
  const Level preferred = levels.level_of(owner.preferred_level).value_or(kAnywhere);
  const bool is_narrower = required == kAnywhere || preferred < required;
  return {.required = required, .preferred = is_narrower ? preferred : kAnywhere};
}

}  // namespace

GangController::GangController(KubeDoor& door, const PodsOptions& options,
                               std::function<bool()> may_write)
    : door_(door),
      may_write_(std::move(may_write)),
      recorder_(door, may_write_),
      engine_cluster_(options.levels),
      observed_(door, options, recorder_, {engine_cluster_, refusals_, resting_, queue_}),
      order_(observed_.gangs(), observed_.view().priorities(), options.priority_scope),
      reconciler_(observed_.view(), observed_.gangs(), order_),
      calls_(door, may_write_) {}

// --- Start of an engine ---------------------------------------------------------------------------

Result<Cluster> GangController::make_cluster() {
  return engine_cluster_.make(observed_.view().nodes(), observed_.gangs().needs());
}

RecordedRun GangController::found(const Cluster& cluster, const std::set<std::string>& names,
                                  Time now) {
  RecordedRun run;
  engine_cluster_.number(cluster);
  run.on({now, record::Run{.cluster = cluster.name, .trace = "live"}});
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    run.on({now, record::Node{.node = node,
                              .name = cluster.node_names[node],
                              .type = cluster.node_type[node],
                              .host = cluster.node_host[node],
                              .rack = cluster.node_rack[node],
                              .gpus = cluster.node_gpus[node]}});
  }
  GangBook& gangs = observed_.gangs();
  for (const auto& [key, entry] : gangs.all()) gangs.begin_try(key);
  std::map<std::string, UserId> users;
  const auto user_of = [&](const std::string& name) {
    const auto [user, is_new] = users.try_emplace(name, users.size());
    if (is_new) run.on({now, record::User{user->second, name, observed_.view().tickets(name)}});
    return user->second;
  };
  for (const std::string& name : names) user_of(name);
  for (const GangInPlace& gang : gangs_in_place(gangs, cluster, engine_cluster_.rows())) {
    const UserId user = user_of(gangs.find(gang.key)->gang.owner().name_space);
    const JobId job = gangs.number(gang.key);
    reconciler_.adopt(gang.key, {.runs = gang.runs,
                                 .run = 1,
                                 .ended = gang.runs ? 0U : 1U,
                                 .where = gang.where,
                                 .start = door_.now(),
                                 .is_clear = true});
    JobSpec spec = spec_of(gang.key, user, cluster, now);
    // The types that it runs on were right when it was placed there.
    for (Slice slice : gang.slices) spec.types |= type_bit(cluster.node_type[slice.node]);
    const Level level = spec.closeness.required;
    if (level != kAnywhere && !within(cluster, level, gang.slices)) spec.closeness = {};
    run.on({now, record::Arrived{spec}});
    run.on({now, record::Place{.job = job,
                               .gang = gang.slices,
                               .gpu_masks = gang.masks,
                               .rate = {},
                               .is_reported = true}});
    if (!gang.runs) run.on({now, record::Stop{.job = job}});
  }
  return run;
}

void GangController::attach(const Tables& tables) {
  tables_ = &tables;
  reconciler_.attach(tables);
  for (const auto& [name, row] : engine_cluster_.rows()) queue_.add_node(name);
  queue_.add_all();
}

void GangController::adopt(const Tables& tables, const std::map<JobId, std::string>& owners) {
  GangBook& gangs = observed_.gangs();
  engine_cluster_.number(tables.cluster);
  gangs.number_from(JobId(tables.jobs.size()));
  attach(tables);
  for (const auto& [key, entry] : gangs.all()) gangs.begin_try(key);
  for (const auto& [job, key] : owners) adopt(job, key);
  for (const auto& [key, entry] : gangs.all()) {
    const std::vector<GangPlace> at = entry.gang.found_at();
    const Assignment& wish = reconciler_.of(key);
    const bool is_known = wish.runs && at == wish.where;
    if (!at.empty() && !is_known) calls_.pause(key, door_.now() + kBrokenLimit);
  }
}

void GangController::adopt(JobId job, const std::string& key) {
  const Jobs& jobs = tables_->jobs;
  if (!jobs.is_here(job)) return;
  const GangBook::Entry* const entry = observed_.gangs().find(key);
  if (entry == nullptr) {  // its owner has gone meanwhile
    return reports_.add({.kind = EventKind::kCancelled, .job = job});
  }
  observed_.gangs().adopt(key, job);
  Assignment wish{.tasks = jobs.gpus_max[job] / jobs.task_gpus[job],
                  .task_gpus = jobs.task_gpus[job],
                  .run = jobs.run[job],
                  .ended = jobs.run[job]};
  // The gang may have had other requirements when it was announced.
  const auto& kinds = engine_cluster_.kinds_for(entry->gang.owner().needs);
  const TypeMask open = types_named(kinds, tables_->cluster);
  if ((jobs.types[job] & ~open) != 0) engine_cluster_.outgrow(door_.now());
  if (jobs.state[job] == JobState::kRunning) {
    --wish.ended;
    wish.runs = wish.is_clear = true;
    wish.is_started = !jobs.is_starting(job);
    wish.start = door_.now();
    wish.where = reconciler_.places_of(key, jobs.last_gang(job),
                                       jobs.gangs.gpu_masks(jobs.last[job]), wish.task_gpus);
  }
  reconciler_.adopt(key, std::move(wish));
  limit(key);
}

// --- The loop -------------------------------------------------------------------------------------

void GangController::settle_all(Time now) {
  if (tables_ == nullptr) return;
  for (const std::string& key : calls_.take_queued()) queue_.add_gang(key);
  for (const std::string& node : resting_.take_due(door_.now())) queue_.add_node(node);
  if (may_write_()) {  // at the beginning it may not yet
    for (const auto& [object, why] : refusals_.take_unexplained()) {
      recorder_.record(object, "Refused", why);
    }
  }
  if (engine_cluster_.take_suspicion()) {
    engine_cluster_.check(observed_.gangs().needs(), door_.now());
  }
  if (!reports_.has_nodes()) {
    for (const std::string& name : queue_.take_nodes()) settle_node(name);
  }
  settle_tickets();
  queue_due();
  settle_gangs(now);
  settle_order();
  settle_gangs(now);
  offer_new_resources();
}

void GangController::settle_gangs(Time now) {
  for (const std::string& key : queue_.take_gangs()) {
    if (observed_.gangs().find(key) != nullptr) {
      if (reports_.has_gang(key)) {
        queue_.add_gang(key);
      } else {
        settle(key, now);
      }
    }
    order_.look_at(key, reconciler_.of(key).is_held);
  }
}

// A new gang that must have no GPUs arrives held.
void GangController::settle_order() {
  for (const std::string& key : order_.update(door_.now(), *tables_)) {
    const JobId job = observed_.gangs().find(key)->job;
    if (!tables_->jobs.has(job) && order_.block_of(job) != nullptr)
      reports_.add_gang(key, {.kind = EventKind::kHeld, .job = job});
    queue_.add_gang(key);
  }
}

void GangController::settle_node(const std::string& name) {
  const auto node = engine_cluster_.row(name);
  if (!node) return;
  for (const Event& event : reconciler_.settle_node(*node)) {
    reports_.add_node(event);
    queue_.add_node(name);
  }
  const bool any_waits = !tables_->waiting.members().empty();
  if (offer(name, *node) && any_waits) {
    reports_.add_node({.kind = EventKind::kRoomUp, .node = *node});
  }
}

// Returns true if a job may find more room on the node.
bool GangController::offer(const std::string& name, NodeId node) {
  const std::set<JobId> closed = resting_.jobs(name);
  const bool is_opened = resources_.limits().set_closed(node, closed);
  return resources_.set_offer(node, reconciler_.amounts_on(node, resources_)) || is_opened;
}

// The jobs that ask for these resources are not with the engine yet, so no room is reported.
void GangController::offer_new_resources() {
  if (!resources_.take_news()) return;
  for (const auto& [name, node] : engine_cluster_.rows()) offer(name, node);
}

void GangController::settle_tickets() {
  const Users& users = tables_->users;
  for (UserId user : ids<UserId>(users.size())) {
    const std::int64_t tickets = observed_.view().tickets(users.names[user]);
    if (tickets != users.tickets[user]) reports_.add_tickets(user, tickets);
  }
}

// Adds the gangs with a time limit that has passed, and the gangs of queued groups, to the queue.
void GangController::queue_due() {
  const Time now = door_.now();
  observed_.gangs().end_absences(now);
  const auto add = [this](const std::vector<std::string>& keys) {
    for (const std::string& key : keys) queue_.add_gang(key);
  };
  add(calls_.take_due(now));
  add(reconciler_.late(now));
  const WorkQueue::Groups groups = queue_.take_groups();
  if (groups.starting) add(reconciler_.starting());
  if (groups.kept) add(reconciler_.kept());
  if (!groups.all && !groups.suspended && !groups.claims) return;
  for (const auto& [key, entry] : observed_.gangs().all()) {
    const bool waits = entry.gang.owner().is_suspended && !reconciler_.of(key).runs;
    const bool is_due = (groups.suspended && waits) || (groups.claims && has_claims(entry.gang));
    if (groups.all || is_due) queue_.add_gang(key);
  }
}

void GangController::settle(const std::string& key, Time now) {
  const Settlement settlement = reconciler_.settle(key, door_.now());
  apply(key, settlement);
  if (settlement.is_new_job) announce(key, now);
  // The template may have changed while the gang waits.
  const JobId job = observed_.gangs().find(key)->job;
  if (tables_->jobs.is_here(job)) reconciler_.of(key).runs ? limit_places(key) : limit(key);
  report_speed(key);
  if (reports_.has_gang(key) || !reconciler_.is_over(key)) return;
  resources_.forget(observed_.gangs().find(key)->job);
  speeds_.forget(observed_.gangs().find(key)->job);
  reconciler_.forget(key);
  calls_.forget(key);
  observed_.gangs().forget(key, door_.now());
}

void GangController::apply(const std::string& key, const Settlement& settlement) {
  const PodGang& gang = observed_.gangs().find(key)->gang;
  if (settlement.explanation) {
    recorder_.record(gang.owner(), settlement.explanation->reason, settlement.explanation->message);
  }
  if (!settlement.missing.empty()) explain_missing(gang, settlement.missing);
  for (const Settlement::Report& report : settlement.reports) {
    reports_.add_gang(key, report.event, report.reason);
    queue_.add_gang(key);
  }
  for (const std::string& other : settlement.gangs) queue_.add_gang(other);
  for (const std::string& node : settlement.nodes) queue_.add_node(node);
  if (!settlement.short_node.empty()) {
    resting_.add(settlement.short_node, observed_.gangs().find(key)->job, door_.now());
    queue_.add_node(settlement.short_node);
  }
  if (!calls_.send(gang, settlement.acts)) return;
  for (const GangAct& act : settlement.acts) {
    if (lets_run(act.kind) || act.kind == GangAct::Kind::kDevice) observed_.view().assume(act);
  }
  if (settlement.when_sent) {
    recorder_.record(gang.owner(), settlement.when_sent->reason, settlement.when_sent->message);
  }
}

// Reports the speed of a gang that runs, if it is news and the engine has taken all earlier reports about the gang.
void GangController::report_speed(const std::string& key) {
  const GangBook::Entry& entry = *observed_.gangs().find(key);
  const Assignment& wish = reconciler_.of(key);
  const JobId job = entry.job;
  if (!wish.runs || !wish.is_started || reports_.has_gang(key)) return;
  const Jobs& jobs = tables_->jobs;
  const bool is_known = jobs.is_here(job) && jobs.state[job] == JobState::kRunning &&
                        jobs.run[job] == wish.run && !jobs.is_starting(job);
  if (!is_known) return;
  for (const Event& event : speeds_.news(entry.gang, job, wish.run)) {
    reports_.add_gang(key, event);
    queue_.add_gang(key);
  }
}

// The pods that exist carry the reason as their condition; the event is for an owner without pods.
void GangController::explain_missing(const PodGang& gang, const std::string& why) {
  recorder_.record(gang.owner(), "Waiting", why);
  if (!may_write_()) return;
  for (const auto& [uid, pod] : gang.pods()) {
    const bool waits = pod.node.empty() && !pod.is_leaving && !pod.is_over();
    if (!waits || pod.is_gated) continue;  // the server gives the reason of a gated pod
    door_.call(unschedulable(pod, why, door_.unix_ms()));
  }
}

// The engine gets the gang as a new job, unless no node will do.
void GangController::announce(const std::string& key, Time now) {
  GangBook& gangs = observed_.gangs();
  if (const JobId job = gangs.find(key)->job; !job.is_none()) {
    resources_.forget(job);
    speeds_.forget(job);
    gangs.drop_job(key);
  }
  if (!has_node(key)) return;
  gangs.number(key);
  const std::string& name_space = gangs.find(key)->gang.owner().name_space;
  const UserId user =
      reports_.user_of(name_space, observed_.view().tickets(name_space), tables_->users);
  reports_.add_job(key, spec_of(key, user, tables_->cluster, now));
  queue_.add_gang(key);
}

// Returns false if no node suits the gang, after explaining that to its user, or if only the next engine's cluster can
// answer that.
bool GangController::has_node(const std::string& key) {
  const Owner& owner = observed_.gangs().find(key)->gang.owner();
  const std::string name = fmt::format("{}/{}", owner.name_space, owner.name);
  if (engine_cluster_.is_outgrown() && !engine_cluster_.has_answered(owner.needs)) return false;
  const std::string level = unknown_level(owner, engine_cluster_.levels());
  if (level.empty() && !engine_cluster_.kinds_for(owner.needs).empty()) {
    refusals_.remove(name);
    return true;
  }
  if (!may_write_()) {
    calls_.pause(key, door_.now() + kRefuseAgain);
    return false;
  }
  const std::string why =
      level.empty() ? engine_cluster_.why_none(owner.needs)
                    : fmt::format("nodes have no level {}, see fairlead serve --levels", level);
  if (refusals_.add(key, name, why)) recorder_.record(owner, "Refused", why);
  return false;
}

// Limits the tasks of the gang's job by resources other than GPUs. Nodes with slots hold more gangs than run, so the
// engine cannot count for gangs there: they wait for room (Reconciler::has_room).
void GangController::limit(const std::string& key) {
  const GangBook::Entry& entry = *observed_.gangs().find(key);
  limit_places(key);
  if (entry.gang.owner().has_slots) return;
  const Resources each = asked_by_each(entry.gang);
  if (each != resources_.needs_of(entry.job)) resources_.set_needs(entry.job, each);
}

// Limits the tasks of the gang's job to nodes that can have its volumes.
void GangController::limit_places(const std::string& key) {
  const GangBook::Entry& entry = *observed_.gangs().find(key);
  if (!has_claims(entry.gang)) return;
  std::map<NodeId, std::uint32_t> most;
  for (const auto& [name, pods] : volume_places(entry.gang, observed_.view())) {
    if (const auto node = engine_cluster_.row(name)) most[*node] = pods;
  }
  for (NodeId node : resources_.limits().set_places(entry.job, std::move(most))) {
    if (tables_ == nullptr || tables_->waiting.members().empty()) break;
    reports_.add_node({.kind = EventKind::kRoomUp, .node = node});
  }
}

// REQUIRES: its job was numbered. The shape that the engine gets is remembered.
JobSpec GangController::spec_of(const std::string& key, UserId user, const Cluster& cluster,
                                Time now) {
  const GangBook::Entry& entry = *observed_.gangs().find(key);
  const Owner& owner = entry.gang.owner();
  reconciler_.announce(key);
  limit(key);
  const std::uint32_t gpus = owner.tasks * owner.task_gpus;
  return {.job = entry.job,
          .user = user,
          .name = reports_.keep(fmt::format("{}/{}", owner.name_space, owner.name)),
          .model = reports_.keep(owner.model),
          .gpus = gpus,
          .gpus_min = gpus,
          .gpus_max = gpus,
          .task_gpus = owner.task_gpus,
          .closeness = closeness_of(owner, engine_cluster_.levels()),
          .extras = kSubmittedExtras,
          .types = types_named(engine_cluster_.kinds_for(owner.needs), cluster),
          .work = owner.time,
          .submit = now};
}

// --- The engine's side ----------------------------------------------------------------------------

void GangController::carry_out(std::span<const Step> steps) {
  GangBook& gangs = observed_.gangs();
  std::set<JobId> stopped;
  for (const Step& step : steps) {
    const auto found = gangs.keys().find(step.job);
    if (found == gangs.keys().end()) continue;
    const std::string& key = found->second;
    queue_.add_gang(key);
    if (step.kind == Step::Kind::kStop) {
      if (reconciler_.stop(key, step.run)) stopped.insert(step.job);
      continue;
    }
    if (!reconciler_.place(key, step, door_.now(), calls_.is_calling(key))) continue;
    gangs.begin_try(key);
    // A policy that starts again leaves the gang where it runs.
    const bool stays = step.place == PlaceKind::kResume && stopped.contains(step.job);
    if (stays) apply(key, reconciler_.keep(key));
  }
}

// Handles an eviction that this world did not report, for example from a node that is gone: the rest of the gang stops.
void GangController::on(const Record& record) {
  order_.touch();
  std::visit(
      Overloaded{
          [&](const record::Evicted& what) { lose(what.job, "one of its nodes or pods is gone"); },
          [&](const record::StartFailed& what) { lose(what.job, what.reason); },
          [&](const record::Rejected& what) { explain(what.asked.job, "Rejected", what.reason); },
          [](const auto&) {},
      },
      record.what);
}

void GangController::lose(JobId job, std::string_view why) {
  const GangBook::Entry* const entry = observed_.gangs().find(job);
  if (entry == nullptr) return;
  const std::string& key = entry->gang.owner().key;
  reconciler_.lose(key);
  queue_.add_gang(key);
  explain(job, "Stopped", why);
}

std::string GangController::missing(const std::string& name) const {
  for (const auto& [key, entry] : observed_.gangs().all()) {
    const Owner& owner = entry.gang.owner();
    if (fmt::format("{}/{}", owner.name_space, owner.name) == name) return reconciler_.missing(key);
  }
  return {};
}

std::string GangController::shortage(JobId job) const {
  const GangBook::Entry* const entry = observed_.gangs().find(job);
  if (entry == nullptr || tables_->jobs.state[job] != JobState::kWaiting) return {};
  const Resources each = asked_by_each(entry->gang);
  const bool uses_claims = has_claims(entry->gang);
  std::map<std::string, std::uint32_t> places;
  if (uses_claims) places = volume_places(entry->gang, observed_.view());
  int nodes = 0;
  int without_volumes = 0;
  std::map<std::string, int> lacks;  // nodes, by resource
  for (const auto& [name, row] : engine_cluster_.rows()) {
    const Tables::NodeState& state = tables_->nodes[row];
    const auto free = static_cast<std::uint32_t>(std::popcount(state.free & state.usable()));
    const bool is_its = (tables_->jobs.types[job] & type_bit(tables_->cluster.node_type[row])) != 0;
    const Node* const node = observed_.view().node(name);
    if (!is_its || free < tables_->jobs.task_gpus[job] || node == nullptr) continue;
    ++nodes;
    if (uses_claims && !places.contains(name)) {
      ++without_volumes;
      continue;
    }
    Resources used;
    observed_.view().each_on(name, [&](const Pod& pod) { add(used, pod.requests); });
    const std::string lack = lacking(node->allocatable, used, each);
    if (!lack.empty()) ++lacks[lack];
  }
  std::vector<std::string> parts;
  for (const auto& [resource, count] : lacks) {
    parts.push_back(fmt::format("{} ha{} too little {}", count, count == 1 ? "s" : "ve", resource));
  }
  if (without_volumes > 0)
    parts.push_back(fmt::format("{} cannot have its volumes", without_volumes));
  if (parts.empty()) return {};
  return fmt::format("of {} nodes with free GPUs for a pod of it, {}", nodes,
                     fmt::join(parts, ", "));
}

std::string GangController::order_text(JobId job) const {
  const StartBlock* const block = order_.block_of(job);
  if (block == nullptr) return {};
  const GangBook::Entry* const first = observed_.gangs().find(block->by);
  if (first == nullptr) return {};
  const Owner& owner = first->gang.owner();
  return fmt::format("after {}/{}, which has a higher priority", owner.name_space, owner.name);
}

void GangController::explain(JobId job, std::string_view reason, std::string_view message) {
  const GangBook::Entry* const entry = observed_.gangs().find(job);
  if (entry != nullptr) recorder_.record(entry->gang.owner(), reason, message);
}

// --- The API server's side ------------------------------------------------------------------------

bool GangController::handle(const KubeEvent& event) {
  const std::optional<GangCalls::Answer> answer = calls_.take(event);
  if (!answer) return false;
  const Assignment& wish = reconciler_.of(answer->gang);
  const bool is_bound = answer->is_ok() && answer->act.kind == GangAct::Kind::kBind &&
                        observed_.gangs().find(answer->gang) != nullptr && !wish.is_started;
  if (is_bound && on_bound_) on_bound_(door_.now() - wish.start);
  observed_.take_answer(*answer);
  return true;
}

Time GangController::due() const {
  Time first = std::min(
      {calls_.due(), resting_.due(), reconciler_.due(), order_.due(), observed_.gangs().due()});
  // An outgrown cluster comes to its end once nothing is on its way.
  if (engine_cluster_.ends_at() > door_.now() || is_quiet()) {
    first = std::min(first, engine_cluster_.ends_at());
  }
  return first;
}

bool GangController::is_outgrown() const {
  return engine_cluster_.ends_at() <= door_.now() && is_quiet();
}

}  // namespace fairlead
