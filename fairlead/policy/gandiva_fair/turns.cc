#include "fairlead/policy/gandiva_fair/turns.h"

#include <algorithm>
#include <tuple>

namespace fairlead {

void Turns::begin() {
  left_.resize(homes_.nodes().size());
  if (by_weight()) weights_.begin();
}

// --- The centre -------------------------------------------------------------------------------

void Turns::choose_spreads(const View& view) {
  order_.clear();
  for (const SpreadJob& spread : homes_.spreads()) {
    for (Slice slice : spread.slices) left_[slice.node] = homes_.nodes()[slice.node].usable();
    order_.push_back(
        {key(view, spread.client), spread.client.order, static_cast<std::uint32_t>(order_.size())});
  }
  std::ranges::sort(order_, {}, [](const Ranked& r) { return std::pair(r.key, r.order); });
  for (const Ranked& ranked : order_) {
    const SpreadJob& spread = homes_.spreads()[ranked.row];
    homes_.spread_client(ranked.row).chosen = may_run(view, spread);
    if (!spread.client.chosen) continue;
    if (by_weight()) weights_.count_turn(view, spread.client);
    for (Slice slice : spread.slices) left_[slice.node] -= slice.gpus;
  }
}

// Smallest first.
double Turns::key(const View& view, const StrideClient& client) const {
  return by_weight() ? -weights_.urgency(view, client) : client.pass;
}

bool Turns::may_run(const View& view, const SpreadJob& spread) {
  const bool fits = std::ranges::all_of(
      spread.slices, [&](Slice slice) { return left_[slice.node] >= slice.gpus; });
  return fits && !spread.client.is_blocked &&
         (by_weight() ? outweighs(view, spread) : is_next_in_stride(spread));
}

bool Turns::is_next_in_stride(const SpreadJob& spread) const {
  return std::ranges::all_of(spread.slices, [&](Slice slice) {
    const NodeBooks::Node& books = homes_.nodes()[slice.node];
    return !books.is_contended || books.queue.empty() ||
           spread.client.pass <= mean_pass(books.queue);
  });
}

// If there is room for both, the own jobs of its nodes lose nothing.
bool Turns::outweighs(const View& view, const SpreadJob& spread) {
  double loss = 0;
  for (Slice slice : spread.slices) {
    if (!homes_.nodes()[slice.node].is_contended) continue;
    weigh(view, slice.node);
    const std::uint32_t left = left_[slice.node];
    loss += best_.worth(left) - best_.worth(left - slice.gpus);
  }
  return weights_.weight(view, spread.client) >= loss;
}

// --- One node ---------------------------------------------------------------------------------

std::uint32_t Turns::left_on(NodeId node) const {
  const NodeBooks::Node& books = homes_.nodes()[node];
  return books.spreads.empty() ? books.gpus : left_[node];
}

void Turns::choose(const View& view, NodeId node) {
  const std::span<StrideClient> queue = homes_.queue(node);
  bool any_stays = false;
  for (StrideClient& client : queue) {
    client.stays = view.jobs.is_pinned(client.job);
    client.own = client.stays ? own_gpus(view, client.job) : 0;
    any_stays |= client.stays;
  }
  if (!by_weight()) {
    gang_stride(queue, left_on(node), options_.rule != TurnRule::kStrict);
    return;
  }
  if (options_.resident || any_stays) {
    choose_residents(view, node);
  } else {
    choose_by_weight(view, node);
  }
  for (const StrideClient& client : queue) {
    if (client.chosen) weights_.count_turn(view, client);
  }
}

// Adds this job to the GPUs of the user's earlier jobs on the node, and returns the earlier sum.
double Turns::ahead(UserId user, std::uint32_t gpus) {
  auto at = std::ranges::find(ahead_, user, &std::pair<UserId, double>::first);
  if (at == ahead_.end()) at = ahead_.insert(at, {user, 0});
  return std::exchange(at->second, at->second + gpus);
}

void Turns::weigh(const View& view, NodeId node) {
  const std::span<StrideClient> queue = homes_.queue(node);
  sort_by_pass(queue);
  items_.clear();
  ahead_.clear();
  for (const StrideClient& client : queue) {
    const double before = ahead(view.jobs.user[client.job], client.gpus);
    items_.push_back({client.gpus, client.is_blocked ? 0 : weights_.weight(view, client, before)});
  }
  best_.fill(items_, left_on(node));
}

void Turns::choose_by_weight(const View& view, NodeId node) {
  weigh(view, node);
  const std::span<StrideClient> queue = homes_.queue(node);
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i].chosen = best_.chosen()[i] != 0;
}

// Returns the GPUs of its node that the job has, or had when it was suspended; 0: any will do.
std::uint64_t Turns::own_gpus(const View& view, JobId job) const {
  if (!options_.resident && !view.jobs.is_pinned(job)) return 0;
  const Gang last = view.jobs.last_gang(job);
  if (last.size() != 1 || last[0].node != homes_.of(job).node) return 0;
  return view.jobs.gangs.gpu_masks(view.jobs.last[job])[0];
}

// In order of urgency, because BestFill chooses by size alone and these jobs keep their GPUs.
void Turns::choose_residents(const View& view, NodeId node) {
  constexpr double kTurns = 2;  // a user's job this far behind takes other GPUs than its own
  const std::span<StrideClient> queue = homes_.queue(node);
  sort_by_pass(queue);
  passes_.clear();
  ahead_.clear();
  for (StrideClient& client : queue) {
    const UserId user = view.jobs.user[client.job];
    const bool is_late = weights_.lag(user, homes_.of(client.job).type) > kTurns;
    client.own = is_late && !client.stays ? 0 : own_gpus(view, client.job);
    passes_.emplace_back(client.pass, client.order);
    client.pass = -weights_.urgency(view, client, ahead(user, client.gpus));
    client.order = static_cast<std::uint32_t>(passes_.size() - 1);
  }
  gang_stride(queue, left_on(node));
  for (StrideClient& client : queue) std::tie(client.pass, client.order) = passes_[client.order];
}

// --- Between quanta ---------------------------------------------------------------------------

JobId Turns::next(const View& view, NodeId node, std::uint32_t free) const {
  const std::vector<StrideClient>& queue = homes_.nodes()[node].queue;
  std::uint64_t taken = 0;
  std::uint64_t pinned = 0;  // GPUs of running jobs that cannot leave them
  for (const StrideClient& client : queue) {
    if (!homes_.of(client.job).runs) continue;
    taken |= own_gpus(view, client.job);
    if (view.jobs.is_pinned(client.job)) pinned |= own_gpus(view, client.job);
  }
  JobId next;
  std::tuple<bool, double, std::uint32_t> least;
  for (const StrideClient& client : queue) {
    if (homes_.of(client.job).runs || client.is_blocked || client.gpus > free) continue;
    const std::uint64_t own = own_gpus(view, client.job);
    if (view.jobs.is_pinned(client.job) && (own & pinned) != 0) continue;
    const bool moves = (own & taken) != 0;
    const std::tuple key(moves, client.pass, client.order);
    if (!next.is_none() && least < key) continue;
    least = key;
    next = client.job;
  }
  return next;
}

}  // namespace fairlead
