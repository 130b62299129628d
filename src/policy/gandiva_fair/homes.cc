// Where Gandiva_fair keeps jobs: the choice of GPU type and node, and the books about it.
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

#include <algorithm>

namespace fairlead {

// --- Outside ----------------------------------------------------------------------------------

void GandivaFair::put_outside(const View& view, JobId job, bool first) {
  const UserId user = view.jobs.user[job];
  if (first) {
    outside_.push_front(user.row(), job);
  } else {
    outside_.push_back(user.row(), job);
  }
  ++outside_count_;
  consider(user);
}

// The user's next job outside is tried when settling in.
void GandivaFair::consider(UserId user) {
  if (outside_.first(user.row()).is_none()) return coming_in_.erase(user);
  coming_in_.set(user, static_cast<double>(entitlements_.kept(user)) /
                           static_cast<double>(entitlements_.tickets(user)));
}

// How many GPUs' worth of jobs a user may have in follows what it is entitled to, so that one who
// asks for much fills no room that others need. At least one job is always let in.
bool GandivaFair::may_come_in(const View& view, JobId job) {
  const UserId user = view.jobs.user[job];
  if (entitlements_.kept(user) == 0) return true;
  double due = entitlements_.base(user);
  if (due == 0) {
    entitlements_.update(view.now);
    due = entitlements_.base(user);
  }
  const auto kept = static_cast<double>(entitlements_.kept(user));
  return kept + view.jobs.gpus[job] <= options_.jobs_per_gpu_max * due;
}

// Lets jobs in, one at a time from the user with the fewest GPUs kept per ticket. One that finds no
// room holds up the others, or small jobs would take what little room there is from large ones for
// ever; only what the nodes that are up cannot hold is passed over.
void GandivaFair::settle_in(const View& view) {
  if (nodes_of_type_.size() > 1) entitlements_.update(view.now);
  while (!coming_in_.empty()) {
    const UserId user = coming_in_.top().id;
    const JobId job = outside_.first(user.row());
    if (job.is_none() || !may_come_in(view, job)) {
      coming_in_.erase(user);
      continue;
    }
    if (!find_home(view, job)) {
      if (fits_when_empty(view, job)) return;
      coming_in_.erase(user);
      continue;
    }
    outside_.erase(user.row(), job);
    --outside_count_;
    consider(user);
  }
}

bool GandivaFair::fits_when_empty(const View& view, JobId job) const {
  std::int64_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(nodes_of_type_.size())) {
    if ((view.jobs.types[job] & type_bit(type)) != 0) gpus += type_gpus_[type];
  }
  return gpus >= view.jobs.gpus[job];
}

bool GandivaFair::find_home(const View& view, JobId job) {
  order_types(view, job);
  const std::uint32_t gpus = view.jobs.gpus[job];
  std::uint32_t largest = 0;
  for (GpuTypeId type : type_choice_) {
    largest = std::max(largest, view.cluster.type_gpus[type]);
    if (gpus > view.cluster.type_node_gpus_max[type]) {
      if (!find_servers(view, job, type_bit(type))) continue;
      spread_out(view, job);
      return true;
    }
    const NodeId node = find_server(view, job, type);
    if (node.is_none()) continue;
    move_in(view, job, node, 0);
    return true;
  }
  if (gpus <= largest || !find_servers(view, job, view.jobs.types[job])) return false;
  spread_out(view, job);
  return true;
}

// --- Which GPU type ---------------------------------------------------------------------------

// The job's speed on the type; unknown: the slowest that is known of it.
double GandivaFair::rate(const View& view, JobId job, GpuTypeId type) const {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const Tier tier = view.speed.best_tier(gpus);
  if (const auto known = view.speed.rate(job, type, gpus, tier)) return known->value();
  double slowest = 0;
  for (GpuTypeId other : ids<GpuTypeId>(nodes_of_type_.size())) {
    const auto known = view.speed.rate(job, other, gpus, tier);
    if (known && known->fixed > 0 && (slowest == 0 || known->value() < slowest)) {
      slowest = known->value();
    }
  }
  return slowest == 0 ? 1 : slowest;
}

// The types on which the job can run, best first: where its user keeps less than it is entitled to,
// the fastest first; then where GPUs are to spare, the fastest first; then where the user keeps the
// least for what it is entitled to ("the fastest GPU subject to contention").
void GandivaFair::order_types(const View& view, JobId job) {
  const UserId user = view.jobs.user[job];
  const std::uint32_t gpus = view.jobs.gpus[job];
  type_choice_.clear();
  type_scores_.assign(nodes_of_type_.size(), 0);
  for (GpuTypeId type : ids<GpuTypeId>(nodes_of_type_.size())) {
    if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
    type_choice_.push_back(type);
    if (nodes_of_type_.size() == 1) return;
    const double due = entitlements_.traded(user, type);
    const auto kept = static_cast<double>(entitlements_.kept(user, type));
    constexpr double kFirst = 2e9;
    constexpr double kSecond = 1e9;
    double& score = type_scores_[type.row()];
    if (due - kept >= gpus / 2.0) {
      score = kFirst + rate(view, job, type);
    } else if (!spare_->tightest(type, gpus, spare_->everywhere()).is_none()) {
      score = kSecond + rate(view, job, type);
    } else {
      score = due / (kept + gpus);
    }
  }
  std::ranges::stable_sort(type_choice_, std::greater(),
                           [&](GpuTypeId type) { return type_scores_[type.row()]; });
}

// --- Which node -------------------------------------------------------------------------------

bool GandivaFair::has_room(NodeId node, std::uint32_t gpus) const {
  const NodeState& state = nodes_[node];
  return !state.is_down && state.wanted + gpus <= 2 * options_.jobs_per_gpu_max * state.gpus;
}

// The tightest node where the job and all others fit; else, of the least loaded ones, the one
// that can serve it best.
NodeId GandivaFair::find_server(const View& view, JobId job, GpuTypeId type) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const NodeId spare = spare_->tightest(type, gpus, spare_->everywhere());
  if (!spare.is_none()) return spare;
  constexpr std::size_t kLooks = 8;
  candidates_.clear();
  for (NodeId node : nodes_of_type_[type]) {
    if (gpus > nodes_[node].gpus || !has_room(node, gpus)) continue;
    const double key = nodes_[node].load;
    if (candidates_.size() == kLooks && key >= candidates_.back().key) continue;
    const auto at = std::ranges::upper_bound(candidates_, key, {}, &RankedNode::key);
    candidates_.insert(at, {key, node});
    if (candidates_.size() > kLooks) candidates_.pop_back();
  }
  const UserId user = view.jobs.user[job];
  const std::int64_t alike = 1 + entitlements_.kept(user, type) / gpus;
  const double due =
      std::min<double>(gpus, entitlements_.traded(user, type) / static_cast<double>(alike));
  NodeId best;
  double least = std::numeric_limits<double>::infinity();
  for (const RankedNode& candidate : candidates_) {
    Tiling tiling = tiling_of(candidate.node);
    const double worse = tiling.unserved_with({gpus, due / gpus}) - tiling.unserved();
    if (worse >= least) continue;
    least = worse;
    best = candidate.node;
  }
  return best;
}

// Nodes for a job that none is large enough for, into slices_: those with the least to do, where
// other spread jobs count double as nothing runs beside them; but rather a set that another such
// job uses, as long as it has hardly more to do. Nodes of several types only if no type has
// enough; the job then counts on that of its first node.
bool GandivaFair::find_servers(const View& view, JobId job, TypeMask types) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  candidates_.clear();
  for (NodeId node : ids<NodeId>(nodes_.size())) {
    if (nodes_[node].is_down) continue;
    if ((types & type_bit(view.cluster.node_type[node])) == 0) continue;
    candidates_.push_back({nodes_[node].load + spread_time(node), node});
  }
  std::ranges::sort(candidates_, {}, [](const RankedNode& c) { return std::pair(c.key, c.node); });
  slices_.clear();
  std::uint32_t left = gpus;
  double highest = 0;
  for (const RankedNode& candidate : candidates_) {
    const std::uint32_t take = std::min<std::uint32_t>(left, nodes_[candidate.node].gpus);
    if (!has_room(candidate.node, take)) continue;
    slices_.push_back({candidate.node, static_cast<std::uint16_t>(take)});
    highest = std::max(highest, candidate.key);
    left -= take;
    if (left == 0) break;
  }
  if (left > 0) return false;
  constexpr double kHardlyMore = 0.25;
  for (const Spread& other : spreads_) {
    if (other.client.gpus != gpus || other.client.job == job) continue;
    const bool is_good = std::ranges::all_of(other.slices, [&](Slice slice) {
      return (types & type_bit(view.cluster.node_type[slice.node])) != 0 &&
             has_room(slice.node, slice.gpus) &&
             nodes_[slice.node].load + spread_time(slice.node) <= highest + kHardlyMore;
    });
    if (!is_good) continue;
    slices_ = other.slices;
    break;
  }
  return true;
}

// The fraction of the time that spread jobs are due on the node.
double GandivaFair::spread_time(NodeId node) const {
  double time = 0;
  for (JobId job : nodes_[node].spreads) time += spread_need(job, node).time;
  return time;
}

// --- The books --------------------------------------------------------------------------------

// `lead`: the job's pass less the mean pass of those it meets.
void GandivaFair::move_in(const View& view, JobId job, NodeId node, double lead) {
  Residence& residence = residences_[job];
  NodeState& state = nodes_[node];
  const UserId user = view.jobs.user[job];
  const std::uint32_t gpus = view.jobs.gpus[job];
  residence.home = node;
  residence.type = view.cluster.node_type[node];
  residence.charged = view.now;
  entitlements_.keep(user, residence.type, gpus);
  kept_.push_back(user.row() * nodes_of_type_.size() + residence.type.row(), job);
  StrideClient client;
  client.gpus = gpus;
  client.job = job;
  client.order = next_order_++;
  client.tickets = tickets_of(view, job);
  client.pass = (state.queue.empty() ? clock() : mean_pass(state.queue)) + lead;
  state.queue.push_back(client);
  want(node, gpus);
  state.load += std::min<double>(gpus, client.tickets) / state.gpus;
  touch(node);
}

// Onto slices_.
void GandivaFair::spread_out(const View& view, JobId job) {
  Residence& residence = residences_[job];
  const UserId user = view.jobs.user[job];
  residence.spread = static_cast<std::uint32_t>(spreads_.size());
  residence.type = view.cluster.node_type[slices_.front().node];
  residence.charged = view.now;
  entitlements_.keep(user, residence.type, view.jobs.gpus[job]);
  kept_.push_back(user.row() * nodes_of_type_.size() + residence.type.row(), job);
  Spread spread;
  spread.slices = slices_;
  spread.client.gpus = view.jobs.gpus[job];
  spread.client.job = job;
  spread.client.order = next_order_++;
  spread.client.tickets = tickets_of(view, job);
  spread.client.pass = clock();
  spreads_.push_back(std::move(spread));
  ++spread_waits_;
  for (Slice slice : slices_) {
    NodeState& state = nodes_[slice.node];
    state.spreads.push_back(job);
    want(slice.node, slice.gpus);
    state.load += std::min<double>(1, spreads_.back().client.tickets / view.jobs.gpus[job]) *
                  slice.gpus / state.gpus;
    touch(slice.node);
  }
}

void GandivaFair::move_out(const View& view, JobId job) {
  Residence& residence = residences_[job];
  const UserId user = view.jobs.user[job];
  entitlements_.drop(user, residence.type, view.jobs.gpus[job]);
  kept_.erase(user.row() * nodes_of_type_.size() + residence.type.row(), job);
  if (residence.spread == kNotSpread) {
    const StrideClient client = take_client(residence.home, job);
    want(residence.home, -std::int64_t{client.gpus});
    NodeState& state = nodes_[residence.home];
    state.load -= std::min<double>(client.gpus, client.tickets) / state.gpus;
    touch(residence.home);
  } else {
    for (Slice slice : spreads_[residence.spread].slices) {
      std::erase(nodes_[slice.node].spreads, job);
      want(slice.node, -std::int64_t{slice.gpus});
      touch(slice.node);
    }
    if (!residence.holds) --spread_waits_;
    std::swap(spreads_[residence.spread], spreads_.back());
    residences_[spreads_[residence.spread].client.job].spread = residence.spread;
    spreads_.pop_back();
    residence.spread = kNotSpread;
  }
  residence.home = NodeId();
  residence.type = GpuTypeId();
}

StrideClient GandivaFair::take_client(NodeId node, JobId job) {
  std::vector<StrideClient>& queue = nodes_[node].queue;
  const auto at = std::ranges::find(queue, job, &StrideClient::job);
  FL_CHECK(at != queue.end(), "job {} is not on its node", job.row());
  const StrideClient client = *at;
  queue.erase(at);
  return client;
}

// The node's jobs want so many GPUs more, or less.
void GandivaFair::want(NodeId node, std::int64_t gpus) {
  NodeState& state = nodes_[node];
  const std::uint32_t has = state.gpus;
  const std::uint32_t before = std::min(state.wanted, has);
  state.wanted = static_cast<std::uint32_t>(state.wanted + gpus);
  const std::uint32_t after = std::min(state.wanted, has);
  if (after > before) spare_->take(node, after - before);
  if (after < before) spare_->give(node, before - after);
  const bool is_contended = state.wanted > has;
  if (is_contended == state.is_contended) return;
  state.is_contended = is_contended;
  if (is_contended) {
    state.slot = static_cast<std::uint32_t>(contended_.size());
    contended_.push_back(node);
    begin_turns(state);
  } else {
    contended_[state.slot] = contended_.back();
    nodes_[contended_[state.slot]].slot = state.slot;
    contended_.pop_back();
  }
}

// All were served alike until now, so they begin alike, and owe nothing.
void GandivaFair::begin_turns(NodeState& state) {
  for (StrideClient& client : state.queue) {
    client.pass = clock();
    residences_[client.job].charged = now_;
  }
}

void GandivaFair::touch(NodeId node) {
  if (nodes_[node].is_touched) return;
  nodes_[node].is_touched = true;
  touched_.push_back(node);
}

// Of the jobs that are kept there, those that run on its other GPUs, or while it is cordoned, are
// stopped; all look for a home anew, ahead of those that came later.
void GandivaFair::empty_node(const View& view, Plan& plan, NodeId node) {
  leaving_ = nodes_[node].spreads;
  for (const StrideClient& client : nodes_[node].queue) leaving_.push_back(client.job);
  for (auto job = leaving_.rbegin(); job != leaving_.rend(); ++job) {
    if (plan.holds(*job)) {
      stop(view, plan, *job);
    } else if (residences_[*job].holds) {
      set_holds(view, *job, false);  // its eviction, or its end, is among the news to come
    }
    move_out(view, *job);
    put_outside(view, *job, true);
  }
}

// A node that has other GPUs than before begins anew, without jobs.
void GandivaFair::resize_node(const View& view, Plan& plan, NodeId node) {
  NodeState& state = nodes_[node];
  const std::uint32_t before = state.is_down ? 0 : state.gpus;
  const std::uint32_t gpus = plan.free().capacity(node);
  if (gpus == before) return;
  const GpuTypeId type = view.cluster.node_type[node];
  const bool is_more = gpus > before;
  empty_node(view, plan, node);
  spare_->set_gpus(node, gpus);
  state.is_down = gpus == 0;
  if (gpus > 0) state.gpus = gpus;
  if (is_more) {
    for (UserId user : entitlements_.active()) consider(user);
  }
  type_gpus_[type] += std::int64_t{gpus} - before;
  entitlements_.set_capacity(type, type_gpus_[type]);
}

}  // namespace fairlead
