#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

double quanta(Duration d, Duration quantum) {
  return static_cast<double>(d.ms) / static_cast<double>(quantum.ms);
}

}  // namespace

std::string_view GandivaFair::name() const { return kGandivaFair.name; }

void GandivaFair::decide(const View& view, Plan& plan) {
  now_ = view.now;
  begin(view, plan);
  apply_news(view, plan);
  bool is_due = view.now >= next_quantum_;
  if (is_due && outside_count_ > 0) {
    for (UserId user : entitlements_.active()) consider(user);
  }
  settle_in(view);
  if (is_contended() && !was_contended_) {
    // No debt outlives a time of plenty.
    entitlements_.update(view.now);
    entitlements_.forgive(view.now);
    next_quantum_ = next_boundary();
    is_due = false;
  }
  was_contended_ = is_contended();
  if (is_due && was_contended_) run_quantum(view, plan);
  if (is_due && !was_contended_ && may_match_types()) {
    entitlements_.update(view.now);
    trade_if_due(view, plan);
    match_types(view, plan);
    next_quantum_ = next_boundary();
  }
  fill_touched(view, plan);
  ask_to_be_woken(view, plan);
}

void GandivaFair::begin(const View& view, const Plan& plan) {
  const std::size_t types = view.cluster.type_names.size();
  entitlements_.begin(view.users, view.cluster);
  outside_.grow(view.users.size());
  kept_.grow(view.users.size() * types);
  if (residences_.size() < view.jobs.size()) residences_.resize(view.jobs.size());
  if (spare_ && nodes_.size() == view.cluster.nodes()) return;
  nodes_of_type_.resize(types);
  type_gpus_.resize(types);
  // What follows from the cluster and the nodes' state, which may have been loaded.
  if (!spare_) {
    spare_.emplace(view.cluster);
    for (NodeId node : ids<NodeId>(nodes_.size())) enter_node(view, node);
  }
  while (nodes_.size() < view.cluster.nodes()) {
    if (!spare_->has(NodeId(nodes_.size()))) spare_->add_node();
    const NodeId node = nodes_.push_back({});
    const std::uint32_t gpus = plan.free().capacity(node);
    nodes_[node].gpus = gpus > 0 ? gpus : view.cluster.node_gpus[node];
    nodes_[node].is_down = gpus == 0;
    enter_node(view, node);
  }
}

void GandivaFair::enter_node(const View& view, NodeId node) {
  const NodeState& state = nodes_[node];
  const GpuTypeId type = view.cluster.node_type[node];
  nodes_of_type_[type].push_back(node);
  spare_->set_gpus(node, state.is_down ? 0 : state.gpus);
  if (state.is_down) return;
  if (state.wanted > 0) spare_->take(node, std::min(state.wanted, state.gpus));
  type_gpus_[type] += state.gpus;
  entitlements_.set_capacity(type, type_gpus_[type]);
}

// --- News -------------------------------------------------------------------------------------

void GandivaFair::apply_news(const View& view, Plan& plan) {
  touched_.clear();
  for (const Event& event : view.news) apply_event(view, plan, event);
}

void GandivaFair::apply_event(const View& view, Plan& plan, const Event& event) {
  switch (event.kind) {
    case EventKind::kArrived:
      entitlements_.add_demand(view.jobs.user[event.job], view.jobs.gpus[event.job]);
      return put_outside(view, event.job, false);
    case EventKind::kFinished:
    case EventKind::kFailed:
    case EventKind::kCancelled:
      return leave(view, event.job);
    case EventKind::kEvicted:
      if (residences_[event.job].type.is_none()) return;  // its node was emptied just now
      set_holds(view, event.job, false);
      move_out(view, event.job);
      return put_outside(view, event.job, true);
    case EventKind::kGpusDown:
    case EventKind::kGpusUp:
      return resize_node(view, plan, event.node);
    case EventKind::kTickets:
      return entitlements_.set_tickets(view.users);
    default:
      return;
  }
}

void GandivaFair::leave(const View& view, JobId job) {
  const UserId user = view.jobs.user[job];
  if (residences_[job].type.is_none()) {
    outside_.erase(user.row(), job);
    --outside_count_;
  } else {
    if (residences_[job].holds) set_holds(view, job, false);
    move_out(view, job);
  }
  residences_[job] = {};
  entitlements_.add_demand(user, -std::int64_t{view.jobs.gpus[job]});
  consider(user);
}

void GandivaFair::set_holds(const View& view, JobId job, bool holds) {
  Residence& residence = residences_[job];
  residence.holds = holds;
  residence.charged = view.now;
  if (residence.spread != kNotSpread) spread_waits_ += holds ? -1u : 1u;
  const std::int64_t gpus = view.jobs.gpus[job];
  entitlements_.add_held(view.now, view.jobs.user[job], residence.type, holds ? gpus : -gpus);
}

// --- The quantum ------------------------------------------------------------------------------

void GandivaFair::run_quantum(const View& view, Plan& plan) {
  charge_all(view);
  entitlements_.update(view.now);
  trade_if_due(view, plan);
  for (NodeId node : contended_) refresh(view, node);
  for (Spread& spread : spreads_) refresh(view, spread);
  if (options_.balance && view.now >= next_balance_) {
    match_types(view, plan);
    balance(view, plan);
    next_balance_ = view.now + Duration{options_.quantum.ms * options_.balance_quanta};
  }
  find_lags();
  choose_spreads(view);
  choose_and_stop(view, plan);
  start_chosen(view, plan);
  next_quantum_ = next_boundary();
}

// A job that held GPUs since it was charged last pays for them.
void GandivaFair::charge_all(const View& view) {
  const auto pay = [&](StrideClient& client) {
    Residence& residence = residences_[client.job];
    if (!residence.holds) return;
    charge(client, quanta(view.now - residence.charged, options_.quantum));
    residence.charged = view.now;
  };
  for (NodeId node : contended_) {
    NodeState& state = nodes_[node];
    for (StrideClient& client : state.queue) pay(client);
    if (options_.cap) bound_passes(state);
  }
  for (Spread& spread : spreads_) pay(spread.client);
}

// The first multiple of the quantum after now.
Time GandivaFair::next_boundary() const { return Rounds(options_.quantum).next(now_); }

// Entitlements are the tickets, so a pass of one who gets what it is due advances by one a quantum.
double GandivaFair::clock() const {
  return static_cast<double>(now_.ms) / static_cast<double>(options_.quantum.ms);
}

// No job owes more than two of its own turns, however long it rode along on GPUs that no other job
// could use, and none is owed more than four. A node with more or less to do than others drifts
// from the clock; it forgets what it drifted beyond some quanta, so that spread jobs can compare
// nodes.
void GandivaFair::bound_passes(NodeState& state) const {
  constexpr double kDrift = 3;
  const double mean = mean_pass(state.queue);
  const double shift = std::clamp(mean, clock() - kDrift, clock() + kDrift) - mean;
  for (StrideClient& client : state.queue) {
    const double turn = client.gpus / client.tickets;
    client.pass = std::clamp(client.pass, mean - 4 * turn, mean + 2 * turn) + shift;
  }
}

void GandivaFair::set_tickets(StrideClient& client, double tickets, double mean) {
  client.pass = mean + (client.pass - mean) * (client.tickets / tickets);
  client.tickets = tickets;
}

// The same for a spread job, with the clock as the mean.
void GandivaFair::refresh(const View& view, Spread& spread) const {
  StrideClient& client = spread.client;
  set_tickets(client, tickets_of(view, client.job), clock());
  if (!options_.cap) return;
  const double turn = client.gpus / client.tickets;
  client.pass = std::clamp(client.pass, clock() - 4 * turn, clock() + 2 * turn);
}

double GandivaFair::tickets_of(const View& view, JobId job) const {
  // Of the time: a job that is due nothing still takes what no other wants.
  constexpr double kLeast = 0.001;
  constexpr double kUntilKnown = 0.25;
  const UserId user = view.jobs.user[job];
  const GpuTypeId type = residences_[job].type;
  const std::uint32_t gpus = view.jobs.gpus[job];
  if (entitlements_.base(user) == 0) return kUntilKnown * gpus;
  return std::max(kLeast * gpus,
                  entitlements_.of_job(user, type, gpus) * entitlements_.correction(user, type));
}

void GandivaFair::trade_if_due(const View& view, Plan& plan) {
  const std::size_t types = nodes_of_type_.size();
  if (types < 2 || view.now < next_trade_) return;
  find_speeds(view);
  if (std::ranges::all_of(speeds_, [](double speed) { return speed <= 0; })) return;
  // Types by the sum of each user's speed there relative to its own fastest.
  type_scores_.assign(types, 0);
  for (UserId user : entitlements_.active()) {
    const auto* own = speeds_.data() + user.row() * types;
    const double fastest = *std::max_element(own, own + types);
    for (std::size_t type = 0; type < types && fastest > 0; ++type) {
      type_scores_[type] += own[type] / fastest;
    }
  }
  type_choice_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(types)) type_choice_.push_back(type);
  std::ranges::stable_sort(type_choice_, std::greater(),
                           [&](GpuTypeId type) { return type_scores_[type.row()]; });
  entitlements_.set_type_order(type_choice_);
  entitlements_.update(view.now);
  if (options_.trade) note_trades(entitlements_.trade(speeds_), plan);
  next_trade_ = view.now + Duration{options_.quantum.ms * options_.trade_quanta};
}

void GandivaFair::note_trades(std::span<const Trade> trades, Plan& plan) const {
  for (const Trade& trade : trades) {
    const UserId seller = entitlements_.active()[trade.seller];
    const UserId buyer = entitlements_.active()[trade.buyer];
    const GpuTypeId fast(trade.fast);
    plan.note(note::Trade{seller, buyer, fast, note::Thousandths::of(trade.fast_gpus)});
    plan.note(note::Price{seller, buyer, fast, note::Millionths::of(trade.price)});
  }
}

// Each user's speed on each type: the mean over its kept jobs whose speeds are known everywhere.
void GandivaFair::find_speeds(const View& view) {
  const std::size_t types = nodes_of_type_.size();
  speeds_.assign(view.users.size() * types, 0);
  for (UserId user : entitlements_.active()) {
    double* const own = speeds_.data() + user.row() * types;
    double gpus = 0;
    for (std::size_t list = user.row() * types; list < (user.row() + 1) * types; ++list) {
      for (JobId job = kept_.first(list); !job.is_none(); job = kept_.after(job)) {
        gpus += add_speeds(view, job, own);
      }
    }
    for (std::size_t type = 0; type < types && gpus > 0; ++type) own[type] /= gpus;
  }
}

// Adds the job's speed on each type times its GPUs, and returns those; 0 if one is not known.
double GandivaFair::add_speeds(const View& view, JobId job, double* speeds) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const Tier tier = view.speed.best_tier(gpus);
  type_scores_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(nodes_of_type_.size())) {
    const auto rate = view.speed.rate(job, type, gpus, tier);
    if (!rate) return 0;
    type_scores_.push_back(rate->value());
  }
  for (std::size_t type = 0; type < type_scores_.size(); ++type) {
    speeds[type] += type_scores_[type] * gpus;
  }
  return gpus;
}

// The centre: jobs of several nodes and the nodes' aggregates in order of their passes. The
// first claims the node; where there is room for both, neither needs to.
void GandivaFair::choose_spreads(const View& view) {
  for (const Spread& spread : spreads_) {
    for (Slice slice : spread.slices) {
      nodes_[slice.node].left = nodes_[slice.node].is_down ? 0 : nodes_[slice.node].gpus;
    }
  }
  std::vector<Spread*>& order = spread_order_;
  order.clear();
  for (Spread& spread : spreads_) {
    spread.key = spread.client.pass - head_start(view, spread.client);
    order.push_back(&spread);
  }
  std::ranges::sort(order, [](const Spread* a, const Spread* b) {
    return std::pair(a->key, a->client.order) < std::pair(b->key, b->client.order);
  });
  for (Spread* spread : order) {
    spread->client.chosen = std::ranges::all_of(spread->slices, [&](Slice slice) {
      const NodeState& state = nodes_[slice.node];
      if (state.left < slice.gpus) return false;
      return !state.is_contended || state.queue.empty() || spread->key <= mean_pass(state.queue);
    });
    if (!spread->client.chosen) continue;
    count_turn(view, spread->client);
    for (Slice slice : spread->slices) nodes_[slice.node].left -= slice.gpus;
  }
}

// By how many turns each user is behind on each type, a turn being a quantum of its share.
void GandivaFair::find_lags() {
  constexpr double kMost = 10;
  const std::size_t types = nodes_of_type_.size();
  lags_.resize(entitlements_.users() * types);
  for (UserId user : entitlements_.active()) {
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      const double share = entitlements_.share(user, type);
      const double turn = share * static_cast<double>(options_.quantum.ms);
      lags_[user.row() * types + type.row()] =
          turn > 0 ? std::clamp(entitlements_.debt(user, type) / turn, -kMost, kMost) : 0;
    }
  }
}

// The job runs in this quantum, which counts at once, so that the next node knows.
void GandivaFair::count_turn(const View& view, const StrideClient& client) {
  const UserId user = view.jobs.user[client.job];
  const GpuTypeId type = residences_[client.job].type;
  constexpr double kLeastShare = 1e-3;
  lags_[user.row() * nodes_of_type_.size() + type.row()] -=
      client.gpus / std::max(kLeastShare, entitlements_.share(user, type));
}

// By how much a job stands ahead of its pass, two corrections of ours to the slides' order: jobs of
// a user that is behind on the whole by four turns for each turn behind, and jobs that are due all
// of the time by three, as they can never make up for a lost turn.
double GandivaFair::head_start(const View& view, const StrideClient& client) const {
  constexpr double kOfUser = 4;
  constexpr double kOfAlwaysDue = 3;
  if (!options_.entitlements.filling) return 0;
  const UserId user = view.jobs.user[client.job];
  const GpuTypeId type = residences_[client.job].type;
  const bool is_always_due =
      entitlements_.of_job(user, type, client.gpus) >= client.gpus * (1 - 1e-9);
  return kOfUser * lags_[user.row() * nodes_of_type_.size() + type.row()] +
         (is_always_due ? kOfAlwaysDue : 0);
}

// True if the job has waited for so many of its turns that it comes before all others: a large gang
// must not wait for ever for small ones to leave, nor a job for others of its own user.
bool GandivaFair::has_waited_long(const StrideClient& client) const {
  constexpr double kTurns = 6;
  const Residence& residence = residences_[client.job];
  return !residence.holds && quanta(now_ - residence.charged, options_.quantum) * client.tickets >=
                                 kTurns * client.gpus;
}

// Gang-aware stride on one node.
void GandivaFair::take_turns(const View& view, std::span<StrideClient> queue, std::uint32_t gpus) {
  constexpr double kFirst = 1e6;
  for (StrideClient& client : queue) {
    double& start = residences_[client.job].head_start;
    start = has_waited_long(client) ? kFirst : head_start(view, client);
    client.pass -= start;
  }
  gang_stride(queue, gpus, options_.skip);
  for (StrideClient& client : queue) client.pass += residences_[client.job].head_start;
  for (const StrideClient& client : queue) {
    if (client.chosen) count_turn(view, client);
  }
}

void GandivaFair::choose_and_stop(const View& view, Plan& plan) {
  for (Spread& spread : spreads_) {
    if (residences_[spread.client.job].holds && !spread.client.chosen)
      stop(view, plan, spread.client.job);
  }
  for (NodeId node : contended_) {
    NodeState& state = nodes_[node];
    const std::uint32_t gpus = state.spreads.empty() ? state.gpus : state.left;
    take_turns(view, state.queue, gpus);
    for (const StrideClient& client : state.queue) {
      if (residences_[client.job].holds && !client.chosen) stop(view, plan, client.job);
    }
  }
}

void GandivaFair::start_chosen(const View& view, Plan& plan) {
  for (Spread& spread : spreads_) {
    if (spread.client.chosen && !residences_[spread.client.job].holds)
      start(view, plan, spread.client.job);
  }
  for (NodeId node : contended_) {
    for (const StrideClient& client : nodes_[node].queue) {
      if (client.chosen && !residences_[client.job].holds) start(view, plan, client.job);
    }
  }
}

// Where no job waits, jobs may still do better on GPUs of another type.
bool GandivaFair::may_match_types() const {
  return options_.balance && nodes_of_type_.size() > 1 && !entitlements_.active().empty();
}

// --- Starting and stopping --------------------------------------------------------------------

void GandivaFair::start(const View& view, Plan& plan, JobId job) {
  const Residence& residence = residences_[job];
  if (residence.spread == kNotSpread) {
    plan.take(residence.home, view.jobs.gpus[job]);
  } else {
    for (Slice slice : spreads_[residence.spread].slices) plan.take(slice.node, slice.gpus);
  }
  plan.place(job);
  set_holds(view, job, true);
}

void GandivaFair::stop(const View& view, Plan& plan, JobId job) {
  plan.stop(job);
  set_holds(view, job, false);
}

void GandivaFair::fill_touched(const View& view, Plan& plan) {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    nodes_[touched_[i]].is_touched = false;
    fill(view, plan, touched_[i]);
  }
  touched_.clear();
  if (spread_waits_ == 0) return;
  for (Spread& spread : spreads_) {
    if (residences_[spread.client.job].holds) continue;
    const bool fits = std::ranges::all_of(
        spread.slices, [&](Slice slice) { return plan.free().on(slice.node) >= slice.gpus; });
    if (fits) start(view, plan, spread.client.job);
  }
}

// GPUs that are free go to those who wait, in the order of their passes.
void GandivaFair::fill(const View& view, Plan& plan, NodeId node) {
  NodeState& state = nodes_[node];
  for (;;) {
    const std::uint32_t free = plan.free().on(node);
    if (free == 0) return;
    const StrideClient* next = nullptr;
    for (const StrideClient& client : state.queue) {
      if (residences_[client.job].holds || client.gpus > free) continue;
      if (next == nullptr ||
          std::pair(client.pass, client.order) < std::pair(next->pass, next->order)) {
        next = &client;
      }
    }
    if (next == nullptr) return;
    start(view, plan, next->job);
  }
}

void GandivaFair::ask_to_be_woken(const View& view, Plan& plan) {
  if (!was_contended_ && !may_match_types()) return;
  if (next_quantum_ <= view.now) {
    next_quantum_ = next_boundary();
  }
  if (wake_ == next_quantum_) return;
  wake_ = std::max(next_quantum_, view.now + milliseconds(1));
  plan.wake_at(wake_);
}

}  // namespace fairlead
