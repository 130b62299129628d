#include "fairlead/policy/gandiva_fair/balancer.h"

#include "fairlead/policy/gandiva_fair/crowds.h"

#include <algorithm>

namespace fairlead {

void Balancer::balance(const View& view, const CarryOut& carry_out) {
  constexpr std::size_t kNodesPerMove = 4;  // chosen
  auto moves_left = static_cast<std::int64_t>(1 + homes_.nodes().size() / kNodesPerMove);
  const auto try_move = [&](const Move& move) {
    if (move.is_none()) return false;
    carry_out(move);
    --moves_left;
    return true;
  };
  try_move(part_crowd(view, homes_, choice_, cool_down_));
  while (moves_left > 0 && try_move(part_steady(view, homes_, cool_down_))) {
  }
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    moves_left = balance_type(view, type, moves_left, carry_out);
  }
}

// Returns the number of moves left.
std::int64_t Balancer::balance_type(const View& view, GpuTypeId type, std::int64_t moves_left,
                                    const CarryOut& carry_out) {
  constexpr int kTries = 8;  // if the worst-off nodes cannot be helped, the others hardly can
  list_sources(view, type);
  if (sources_.empty()) return moves_left;
  list_least_loaded(view, type);
  int stuck = 0;
  for (const Ranked& source : sources_) {
    if (moves_left == 0 || stuck == kTries) break;
    if (relieve(view, source.node, carry_out)) {
      --moves_left;
    } else {
      ++stuck;
    }
  }
  return moves_left;
}

// Lists the nodes that cannot serve their dues, the worst off first.
void Balancer::list_sources(const View& view, GpuTypeId type) {
  constexpr double kWorthALook = 0.2;  // GPUs
  sources_.clear();
  for (NodeId node : homes_.nodes().contended()) {
    if (view.cluster.node_type[node] != type) continue;
    const double missing = homes_.tiling(node).unserved();
    if (missing > kWorthALook) sources_.push_back({-missing, node});
  }
  std::ranges::sort(sources_, {}, [](const Ranked& c) { return std::pair(c.key, c.node); });
}

void Balancer::list_least_loaded(const View& view, GpuTypeId type) {
  constexpr std::size_t kLooks = 16;
  candidates_.clear();
  for (NodeId node : homes_.nodes().of_type(type)) {
    const NodeBooks::Node& books = homes_.nodes()[node];
    if (!books.is_down) candidates_.push_back({books.load, node});
  }
  std::ranges::sort(candidates_, {}, [](const Ranked& c) { return std::pair(c.key, c.node); });
  if (candidates_.size() > kLooks) candidates_.resize(kLooks);
  tilings_.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    homes_.refresh(view, candidates_[i].node);
    look_at(i);
  }
}

// Updates the unserved GPUs of the candidate.
void Balancer::look_at(std::size_t candidate) {
  tilings_[candidate] = homes_.tiling(candidates_[candidate].node);
  candidates_[candidate].key = tilings_[candidate].unserved();
}

// Moves the job whose move gains the most; returns true if that gain is enough.
bool Balancer::relieve(const View& view, NodeId node, const CarryOut& carry_out) {
  const Move move = best_relief(view, node);
  if (move.is_none()) return false;
  carry_out(move);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].node == node || candidates_[i].node == move.to.node) look_at(i);
  }
  return true;
}

Move Balancer::best_relief(const View& view, NodeId node) {
  const Tiling tiling = homes_.tiling(node);
  const double here = tiling.unserved();
  Move best;
  double best_gain = 0;
  tried_.clear();
  for (const StrideClient& client : homes_.nodes()[node].queue) {
    if (!cool_down_.may_move(view, client.job) || is_tried(client)) continue;
    const double relief_at_most = here - tiling.least_unserved_without(need_of(client));
    if (relief_at_most - gain_ * client.gpus <= best_gain) continue;
    const double relief = here - homes_.tiling(node, client.job).unserved();
    const NodeId to = best_of_candidates(view, client, node, relief, best_gain);
    if (!to.is_none()) best = {client.job, {.node = to}};
  }
  return best;
}

// Returns the node to which the client's move gains the most, if that is more than `gain`, and sets
// `gain` to it. `relief`: the gain of the client's leaving.
NodeId Balancer::best_of_candidates(const View& view, const StrideClient& client, NodeId from,
                                    double relief, double& gain) {
  const double least_gain = gain_ * client.gpus;
  if (relief - least_gain <= gain) return {};
  const Need need = need_of(client);
  NodeId best;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const NodeId to = candidates_[i].node;
    if (to == from || client.gpus > homes_.nodes()[to].gpus ||
        !homes_.nodes().has_room(to, client.gpus)) {
      continue;
    }
    if (!fits_when_idle(view, client.job, to)) continue;
    const auto gain_if = [&](double unserved) {
      return relief - (unserved - candidates_[i].key) - least_gain;
    };
    if (gain_if(tilings_[i].least_unserved_with(need)) <= gain) continue;
    const double gain_there = gain_if(tilings_[i].unserved_with(need));
    if (gain_there <= gain) continue;
    gain = gain_there;
    best = to;
  }
  return best;
}

// Returns false only for the first client with its need; jobs of one user are mostly alike.
bool Balancer::is_tried(const StrideClient& client) {
  const std::pair<std::uint32_t, double> need(client.gpus, client.tickets);
  if (std::ranges::find(tried_, need) != tried_.end()) return true;
  tried_.push_back(need);
  return false;
}

}  // namespace fairlead
