#include "fairlead/engine/event_rules.h"

#include "fairlead/model/levels.h"

namespace fairlead {
namespace {

bool may_have(std::int64_t tickets) { return tickets >= 1 && tickets <= kTicketsMax; }

}  // namespace

EventRules::EventRules(EngineState& state, Timers& timers, const EngineOptions& options)
    : state_(state),
      timers_(timers),
      nodes_(state, instant_),
      jobs_(state, instant_, nodes_, timers, options) {}

bool EventRules::apply(const Batch& batch, const Policy& policy) {
  instant_.clear();
  admit(batch);
  const bool is_news = apply_events(batch, policy);
  jobs_.release_due();
  const bool woke = timers_.take_wakes(state_.now);
  if (woke) instant_.news.push_back({.kind = EventKind::kWoke});
  nodes_.close_idle_gpus();
  return is_news || woke;
}

// Admits new groups, users and nodes. Known ones are ignored.
void EventRules::admit(const Batch& batch) {
  const Users& users = state_.tables.users;
  for (const GroupSpec& group : batch.groups) {
    const bool is_next = group.group.row() == users.groups.size();
    if (!is_next || !may_have(group.tickets) || group.quota < 0) continue;
    state_.log(record::Group{group.group, group.name, group.tickets, group.quota});
  }
  for (const UserSpec& user : batch.users) {
    if (user.user.row() != users.size() || !may_have(user.tickets)) continue;
    if (!user.group.is_none() && !users.groups.names.has(user.group)) continue;
    state_.log(record::User{user.user, user.name, user.tickets, user.group});
  }
  for (const NodeJoin& join : batch.nodes) nodes_.join(join);
}

bool EventRules::apply_events(const Batch& batch, const Policy& policy) {
  state_.counts.events += std::ssize(batch.events);
  std::size_t arrivals = 0;
  bool is_news = false;
  for (const Event& event : batch.events) {
    const std::size_t told = instant_.news.size();
    bool counts = true;
    bool is_arrival = false;  // the arrival of a job that needs GPUs
    if (event.kind == EventKind::kArrived) {
      const bool has_spec = arrivals < batch.jobs.size() && batch.jobs[arrivals].job == event.job;
      counts = has_spec && jobs_.arrive(batch.jobs[arrivals++], policy);
      is_arrival = counts && state_.tables.needs_gpus(event.job);
    } else {
      counts = apply(event);
    }
    if (!counts) {
      ++state_.counts.ignored;
      state_.log(record::Ignored{event.kind, event.job, event.node, event.run});
    }
    // A rejection leads to a decision as well: other jobs may have counted on the one rejected.
    is_news |= instant_.news.size() > told || is_arrival;
  }
  return is_news;
}

bool EventRules::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kCordoned:
    case EventKind::kUncordoned:
    case EventKind::kGpusDown:
    case EventKind::kGpusUp:
    case EventKind::kRoomUp:
      return state_.tables.nodes.has(event.node) && nodes_.apply(event);
    case EventKind::kTickets:
      return change_tickets(event);
    case EventKind::kForgotten:
      return forget_speeds(event);
    case EventKind::kCharged:
      return charge(event);
    case EventKind::kWoke:
      return false;
    default:
      return state_.tables.jobs.has(event.job) && jobs_.apply(event);
  }
}

bool EventRules::change_tickets(const Event& event) {
  const Users& users = state_.tables.users;
  if (!users.names.has(event.user) || !may_have(event.tickets)) return false;
  if (users.tickets[event.user] == event.tickets) return false;
  state_.log(record::Tickets{event.user, event.tickets});
  instant_.news.push_back(event);
  return true;
}

bool EventRules::forget_speeds(const Event& event) {
  if (!state_.speeds.forget(event.user, state_.tables.model_named(event.model))) return false;
  state_.log(record::Forgotten{event.user, event.model});
  return true;
}

bool EventRules::charge(const Event& event) {
  const Tables& tables = state_.tables;
  if (!tables.users.names.has(event.user) || !tables.nodes.has(event.node)) return false;
  if (event.attained <= GpuTime{}) return false;
  state_.log(record::Charged{event.user, event.node, event.attained});
  instant_.news.push_back(event);
  return true;
}

}  // namespace fairlead
