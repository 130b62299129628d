#include "fairlead/policy/gandiva_fair/crowds.h"

#include <algorithm>
#include <limits>

namespace fairlead {
namespace {

// Returns the largest due of spread jobs on any of the nodes: a fraction of the time.
double crowd_on(const Homes& homes, std::span<const Slice> slices) {
  double most = 0;
  for (Slice slice : slices) most = std::max(most, homes.spread_time(slice.node));
  return most;
}

bool is_steady(Need need) {
  constexpr double kAlways = 0.999;
  return need.time >= kAlways;
}

// Returns the GPUs that the node's jobs are due all of the time.
std::uint32_t steady_gpus(const Homes& homes, NodeId node) {
  const NodeBooks::Node& books = homes.nodes()[node];
  std::uint32_t gpus = 0;
  for (const StrideClient& client : books.queue) {
    if (is_steady(need_of(client))) gpus += client.gpus;
  }
  for (JobId job : books.spreads) {
    const Need need = homes.spread(job).need_on(node);
    if (is_steady(need)) gpus += need.gpus;
  }
  return gpus;
}

// Returns a node where the client would not be crowded; none if there is no such node.
NodeId node_apart(const View& view, Homes& homes, GpuTypeId type, const StrideClient& client) {
  NodeId best;
  double least = std::numeric_limits<double>::infinity();
  for (NodeId node : homes.nodes().of_type(type)) {
    const NodeBooks::Node& books = homes.nodes()[node];
    if (books.is_down || !homes.nodes().has_room(node, client.gpus)) continue;
    if (!fits_when_idle(view, client.job, node)) continue;
    if (!books.is_contended) homes.refresh(view, node);
    if (steady_gpus(homes, node) + client.gpus > books.gpus) continue;
    Tiling tiling = homes.tiling(node);
    const double worse = tiling.unserved_with(need_of(client)) - tiling.unserved();
    if (worse >= least) continue;
    least = worse;
    best = node;
  }
  return best;
}

}  // namespace

Move part_crowd(const View& view, const Homes& homes, HomeChoice& choice,
                const CoolDown& cool_down) {
  constexpr double kTooMuch = 1.05;
  for (const SpreadJob& spread : homes.spreads()) {
    const JobId job = spread.client.job;
    if (crowd_on(homes, spread.slices) <= kTooMuch || !cool_down.may_move(view, job)) continue;
    const Home to = choice.find_slices(view, job, type_bit(homes.of(job).type));
    if (to.is_none()) continue;
    if (crowd_on(homes, to.slices) + need_of(spread.client).time <= kTooMuch) return {job, to};
  }
  return {};
}

Move part_steady(const View& view, Homes& homes, const CoolDown& cool_down) {
  for (NodeId node : homes.nodes().contended()) {
    if (steady_gpus(homes, node) <= homes.nodes()[node].gpus) continue;
    for (const StrideClient& client : homes.nodes()[node].queue) {
      if (!is_steady(need_of(client)) || !cool_down.may_move(view, client.job)) continue;
      const NodeId to = node_apart(view, homes, view.cluster.node_type[node], client);
      if (!to.is_none()) return {client.job, {.node = to}};
    }
  }
  return {};
}

}  // namespace fairlead
