#include "fairlead/model/communication.h"

#include <algorithm>

namespace fairlead {

double transfer_ms(double mb, double gbps) {
  FL_DCHECK(mb >= 0 && gbps > 0, "{} MB at {} Gbit/s", mb, gbps);
  return mb * 8.0 / gbps;
}

double Iteration::ms(double at_gbps, double waits_ms) const {
  const double exchange_ms = transfer_ms(traffic_mb, at_gbps) + latency_ms + waits_ms;
  return compute_ms + std::max(0.0, exchange_ms - hidden_ms);
}

Links congested(Links links, const std::array<double, kTiers>& congestion) {
  for (double factor : congestion) FL_CHECK(factor > 0, "congestion {}", factor);
  links.pair_gbps /= congestion[static_cast<std::size_t>(Tier::kPair)];
  links.node_gbps /= congestion[static_cast<std::size_t>(Tier::kNode)];
  links.rack_gbps /= congestion[static_cast<std::size_t>(Tier::kRack)];
  links.spine_gbps /= congestion[static_cast<std::size_t>(Tier::kSpine)];
  return links;
}

double ring_gbps(const Links& links, Tier tier) {
  if (tier == Tier::kPair) return links.pair_gbps;
  double gbps = links.node_gbps;
  if (tier >= Tier::kRack) gbps = std::min(gbps, links.rack_gbps);
  if (tier >= Tier::kSpine) gbps = std::min(gbps, links.spine_gbps);
  return gbps;
}

Iteration iteration_of(const Communication& model, double compute_ms, std::uint32_t gpus, Tier tier,
                       const Links& links, Exchange exchange) {
  FL_CHECK(gpus >= 1 && compute_ms >= 0, "{} GPUs, {} ms", gpus, compute_ms);
  FL_DCHECK(model.overlap >= 0 && model.overlap <= 1, "overlap {}", model.overlap);
  const double others = gpus - 1.0;
  const bool is_ring = exchange == Exchange::kRing;
  const double part_mb = model.gradients_mb / gpus;
  return {
      .compute_ms = compute_ms,
      .hidden_ms = model.overlap * compute_ms,
      .traffic_mb = 2 * others * (is_ring ? part_mb : std::max(part_mb, model.largest_tensor_mb)),
      .latency_ms = 2 * (is_ring ? others : std::min(others, 1.0)) * links.latency_us / 1000.0,
      .gbps = ring_gbps(links, tier)};
}

}  // namespace fairlead
