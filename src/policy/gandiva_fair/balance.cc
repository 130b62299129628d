// How Gandiva_fair moves jobs: between nodes until what is due can be served, and between GPU
// types until every user keeps enough jobs where it is entitled to GPUs.
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

#include <algorithm>

namespace fairlead {

// --- What a node can serve --------------------------------------------------------------------

// Brings the tickets of the node's jobs and its load up to date. What a job is ahead or behind in
// GPU time stays the same, so its distance from the mean pass changes as its tickets do (as in
// Waldspurger and Weihl's dynamic stride scheduling).
void GandivaFair::refresh(const View& view, NodeId node) {
  NodeState& state = nodes_[node];
  const double mean = mean_pass(state.queue);
  double due = 0;
  for (StrideClient& client : state.queue) {
    set_tickets(client, tickets_of(view, client.job), mean);
    due += std::min<double>(client.gpus, client.tickets);
  }
  for (JobId job : state.spreads) due += spread_need(job, node).gpus * spread_need(job, node).time;
  state.load = due / state.gpus;
}

Need GandivaFair::spread_need(JobId job, NodeId node) const {
  const Spread& spread = spreads_[residences_[job].spread];
  const auto slice = std::ranges::find(spread.slices, node, &Slice::node);
  return {slice->gpus, std::min(1.0, spread.client.tickets / spread.client.gpus)};
}

// Of the needs of the node's jobs but one.
Tiling GandivaFair::tiling_of(NodeId node, JobId without) const {
  const NodeState& state = nodes_[node];
  Tiling tiling(state.gpus);
  for (const StrideClient& client : state.queue) {
    if (client.job != without) tiling.add(need_of(client));
  }
  for (JobId job : state.spreads) tiling.add(spread_need(job, node));
  return tiling;
}

Need GandivaFair::need_of(const StrideClient& client) {
  return {client.gpus, std::min(1.0, client.tickets / client.gpus)};
}

// --- Between nodes ----------------------------------------------------------------------------

void GandivaFair::balance(const View& view, Plan& plan) {
  constexpr double kWorthALook = 0.2;  // GPUs
  std::int64_t moves_left =
      1 + static_cast<std::int64_t>(options_.moves * static_cast<double>(nodes_.size()));
  if (part_spreads(view, plan)) --moves_left;
  for (GpuTypeId type : ids<GpuTypeId>(nodes_of_type_.size())) {
    sources_.clear();
    for (NodeId node : contended_) {
      if (view.cluster.node_type[node] != type) continue;
      const double missing = tiling_of(node).unserved();
      if (missing > kWorthALook) sources_.push_back({-missing, node});
    }
    if (sources_.empty()) continue;
    std::ranges::sort(sources_, {}, [](const RankedNode& c) { return std::pair(c.key, c.node); });
    list_least_loaded(view, type);
    // Where the worst off cannot be helped, the others hardly can.
    constexpr std::size_t kTries = 8;
    std::size_t stuck = 0;
    for (const RankedNode& source : sources_) {
      if (moves_left == 0 || stuck == kTries) break;
      if (relieve(view, plan, source.node)) {
        --moves_left;
      } else {
        ++stuck;
      }
    }
    for (; stuck > 0 && moves_left > 0 && join_holes(view, plan, type); --moves_left) {
    }
  }
}

// Spread jobs that share a node must take turns. Where they are due more than all of the time,
// moves one of them to nodes where that is not so; true if it found any.
bool GandivaFair::part_spreads(const View& view, Plan& plan) {
  const auto crowd = [&](std::span<const Slice> slices) {
    double most = 0;
    for (Slice slice : slices) most = std::max(most, spread_time(slice.node));
    return most;
  };
  for (std::size_t i = 0; i < spreads_.size(); ++i) {
    const JobId job = spreads_[i].client.job;
    constexpr double kTooMuch = 1.05;
    if (crowd(spreads_[i].slices) <= kTooMuch || !may_move(view, job)) continue;
    const TypeMask type = type_bit(residences_[job].type);
    const double own = std::min(1.0, spreads_[i].client.tickets / spreads_[i].client.gpus);
    if (!find_servers(view, job, type) || crowd(slices_) + own > kTooMuch) continue;
    if (residences_[job].holds) stop(view, plan, job);
    move_out(view, job);
    spread_out(view, job);
    residences_[job].moved = view.now;
    return true;
  }
  return false;
}

// Nodes where all fit have holes that are each too small for those who wait elsewhere. Moves the
// job that best makes one larger hole of two, counting a hole by the square of its size.
bool GandivaFair::join_holes(const View& view, Plan& plan, GpuTypeId type) {
  JobId best;
  NodeId best_to;
  double best_gain = 0;
  for (NodeId node : nodes_of_type_[type]) {
    const NodeState& state = nodes_[node];
    if (state.is_down || state.wanted == 0 || state.wanted >= state.gpus) continue;
    const double hole = state.gpus - state.wanted;
    for (const StrideClient& client : state.queue) {
      if (!may_move(view, client.job)) continue;
      const NodeId to = spare_->tightest(type, client.gpus, spare_->everywhere());
      if (to.is_none() || to == node) continue;
      const double other = nodes_[to].gpus - nodes_[to].wanted;
      const double gain = hole - other + client.gpus;  // of the squares, per GPU moved
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = client.job;
      best_to = to;
    }
  }
  if (best.is_none()) return false;
  move(view, plan, best, best_to);
  return true;
}

void GandivaFair::list_least_loaded(const View& view, GpuTypeId type) {
  candidates_.clear();
  for (NodeId node : nodes_of_type_[type]) {
    if (!nodes_[node].is_down) candidates_.push_back({nodes_[node].load, node});
  }
  std::ranges::sort(candidates_, {}, [](const RankedNode& c) { return std::pair(c.key, c.node); });
  constexpr std::size_t kLooks = 16;
  if (candidates_.size() > kLooks) candidates_.resize(kLooks);
  tilings_.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    refresh(view, candidates_[i].node);
    look_at(i);
  }
}

// Brings up to date what the candidate can serve.
void GandivaFair::look_at(std::size_t candidate) {
  tilings_[candidate] = tiling_of(candidates_[candidate].node);
  candidates_[candidate].key = tilings_[candidate].unserved();
}

// Moves the job whose move gains the most; true if there is one that gains enough.
bool GandivaFair::relieve(const View& view, Plan& plan, NodeId node) {
  const double here = tiling_of(node).unserved();
  JobId best;
  NodeId best_to;
  double best_gain = 0;
  tried_.clear();
  for (const StrideClient& client : nodes_[node].queue) {
    if (!may_move(view, client.job)) continue;
    if (is_tried(client)) continue;
    const double least_gain = options_.gain * client.gpus;
    const double relief = here - tiling_of(node, client.job).unserved();
    if (relief - least_gain <= best_gain) continue;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const NodeId to = candidates_[i].node;
      if (to == node || client.gpus > nodes_[to].gpus || !has_room(to, client.gpus)) continue;
      const auto gain_if = [&](double unserved) {
        return relief - (unserved - candidates_[i].key) - least_gain;
      };
      const Need need = need_of(client);
      if (gain_if(tilings_[i].least_unserved_with(need)) <= best_gain) continue;
      const double gain = gain_if(tilings_[i].unserved_with(need));
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = client.job;
      best_to = to;
    }
  }
  if (best.is_none()) return false;
  move(view, plan, best, best_to);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].node == node || candidates_[i].node == best_to) look_at(i);
  }
  return true;
}

// True for all but the first client with its need; jobs of one user are mostly alike.
bool GandivaFair::is_tried(const StrideClient& client) {
  const std::pair<std::uint32_t, double> need(client.gpus, client.tickets);
  if (std::ranges::find(tried_, need) != tried_.end()) return true;
  tried_.push_back(need);
  return false;
}

bool GandivaFair::may_move(const View& view, JobId job) const {
  const Residence& residence = residences_[job];
  const Duration rest = {options_.quantum.ms * options_.cool_down_quanta};
  return residence.moved.ms < 0 || view.now - residence.moved >= rest;
}

// The job keeps what it is ahead or behind.
void GandivaFair::move(const View& view, Plan& plan, JobId job, NodeId to) {
  Residence& residence = residences_[job];
  const Time waits_since = residence.holds ? view.now : residence.charged;
  if (residence.holds) stop(view, plan, job);
  const NodeId from = residence.home;
  const double pass = std::ranges::find(nodes_[from].queue, job, &StrideClient::job)->pass;
  move_out(view, job);
  move_in(view, job, to, pass - mean_pass(nodes_[from].queue));
  residence.moved = view.now;
  residence.charged = waits_since;
}

// --- Between GPU types ------------------------------------------------------------------------

void GandivaFair::match_types(const View& view, Plan& plan) {
  if (nodes_of_type_.size() < 2) return;
  constexpr int kMovesOfUser = 4;
  for (std::size_t i = 0; i < entitlements_.active().size(); ++i) {
    const UserId user = entitlements_.active()[i];
    for (int moves = 0; moves < kMovesOfUser && match_types_of(view, plan, user); ++moves) {
    }
  }
  for (UserId user : entitlements_.active()) use_spare(view, plan, user);
}

// Moves one job of the user to GPUs of another type that no job wants.
void GandivaFair::use_spare(const View& view, Plan& plan, UserId user) {
  constexpr int kLooks = 8;  // jobs of one type
  const std::size_t types = nodes_of_type_.size();
  for (GpuTypeId from : ids<GpuTypeId>(types)) {
    JobId job = kept_.first(user.row() * types + from.row());
    for (int looks = 0; looks < kLooks && !job.is_none(); ++looks, job = kept_.after(job)) {
      const NodeId node = find_spare(view, job);
      if (!node.is_none()) return move(view, plan, job, node);
    }
  }
}

// Where another type has GPUs that no job wants, if the job gets more done there or if its speed
// there is not known yet; else none.
NodeId GandivaFair::find_spare(const View& view, JobId job) {
  constexpr double kWorthAMove = 1.1;
  const Residence& residence = residences_[job];
  if (residence.spread != kNotSpread || !may_move(view, job)) return NodeId();
  const std::uint32_t gpus = view.jobs.gpus[job];
  const double fraction =
      nodes_[residence.home].is_contended
          ? entitlements_.of_job(view.jobs.user[job], residence.type, gpus) / gpus
          : 1;
  const double here = std::min(1.0, fraction) * rate(view, job, residence.type);
  for (GpuTypeId to : ids<GpuTypeId>(nodes_of_type_.size())) {
    if (to == residence.type || (view.jobs.types[job] & type_bit(to)) == 0) continue;
    const auto known = view.speed.rate(job, to, gpus, view.speed.best_tier(gpus));
    if (known && known->value() < kWorthAMove * here) continue;
    const NodeId node = spare_->tightest(to, gpus, spare_->everywhere());
    if (!node.is_none()) return node;
  }
  return NodeId();
}

// What the user's jobs on the type are worth with `more` GPUs of them there: what it can use of its
// entitlement, and a little for as much again, as jobs that take turns pack better.
double GandivaFair::usable(UserId user, GpuTypeId type, std::int64_t more) const {
  constexpr double kSpareWorth = 0.25;
  const auto kept = static_cast<double>(entitlements_.kept(user, type) + more);
  const double due = entitlements_.traded(user, type);
  return std::min(kept, due) + kSpareWorth * std::clamp(kept - due, 0.0, due);
}

// What moving the job to the type adds to its user's throughput, in GPUs of the slower of the two
// types.
double GandivaFair::gain_of_move(const View& view, JobId job, GpuTypeId to) const {
  const GpuTypeId from = residences_[job].type;
  const UserId user = view.jobs.user[job];
  const std::int64_t gpus = view.jobs.gpus[job];
  const double rate_from = rate(view, job, from);
  const double rate_to = rate(view, job, to);
  // Where all fit it runs all the time, whatever its user is entitled to.
  const NodeId home = residences_[job].home;
  const double lost = nodes_[home].is_contended ? usable(user, from, 0) - usable(user, from, -gpus)
                                                : static_cast<double>(gpus);
  const double won = usable(user, to, gpus) - usable(user, to, 0);
  return (won * rate_to - lost * rate_from) / std::min(rate_from, rate_to);
}

// Moves the job of the user that gains the most by it; true if there is one that gains enough.
bool GandivaFair::match_types_of(const View& view, Plan& plan, UserId user) {
  constexpr double kWorthALook = 0.5;  // GPUs
  Match best;
  for (GpuTypeId to : ids<GpuTypeId>(nodes_of_type_.size())) {
    const double due = entitlements_.traded(user, to);
    if (2 * due - static_cast<double>(entitlements_.kept(user, to)) < kWorthALook) continue;
    for (GpuTypeId from : ids<GpuTypeId>(nodes_of_type_.size())) {
      if (from != to) improve(view, user, from, to, best);
    }
  }
  if (best.job.is_none()) return false;
  move(view, plan, best.job, best.to);
  return true;
}

// Replaces the best match by one between these types if that gains more.
void GandivaFair::improve(const View& view, UserId user, GpuTypeId from, GpuTypeId to,
                          Match& best) {
  constexpr int kLooks = 32;  // jobs
  JobId job = kept_.first(user.row() * nodes_of_type_.size() + from.row());
  for (int looks = 0; looks < kLooks && !job.is_none(); ++looks, job = kept_.after(job)) {
    if (!may_move(view, job) || residences_[job].spread != kNotSpread) continue;
    const std::uint32_t gpus = view.jobs.gpus[job];
    const bool can_run =
        (view.jobs.types[job] & type_bit(to)) != 0 && gpus <= view.cluster.type_node_gpus_max[to];
    if (!can_run) continue;
    const double gain = gain_of_move(view, job, to) - 2 * options_.gain * gpus;
    if (gain <= best.gain) continue;
    const NodeId node = find_server(view, job, to);
    if (!node.is_none()) best = {job, node, gain};
  }
}

}  // namespace fairlead
