#include "fairlead/model/communication.h"

#include <algorithm>

namespace fairlead {

double transfer_ms(double mb, double gbps) {
  FL_DCHECK(mb >= 0 && gbps > 0, "{} MB at {} Gbit/s", mb, gbps);
  return mb * 8.0 / gbps;
}

double Iteration::ms(double at_gbps, double waits_ms) const {
  const double exchange_ms = transfer_ms(traffic_mb, at_gbps) + latency_ms + waits_ms;
  return compute_ms + std::max(exposed * exchange_ms, exchange_ms - hidden_ms);
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
  return iteration_at(model, compute_ms, gpus, ring_gbps(links, tier), links.latency_us, exchange);
}

std::optional<double> compute_ms_of(const Communication& model, double ms, std::uint32_t gpus,
                                    Tier tier, const Links& links) {
  const double exchange_ms = iteration_of(model, 0, gpus, tier, links).alone_ms();
  if (ms <= exchange_ms) return std::nullopt;
  const double if_hidden = ms - model.exposed * exchange_ms;
  if (model.overlap * if_hidden >= (1 - model.exposed) * exchange_ms) return if_hidden;
  // Not all of the exchange fits beside the computation, so the overlap is below 1.
  return (ms - exchange_ms) / (1 - model.overlap);
}

Iteration iteration_at(const Communication& model, double compute_ms, std::uint32_t gpus,
                       double gbps, double latency_us, Exchange exchange, std::uint32_t host_gpus) {
  FL_CHECK(gpus >= 1 && compute_ms >= 0, "{} GPUs, {} ms", gpus, compute_ms);
  FL_DCHECK(model.overlap >= 0 && model.overlap <= 1, "overlap {}", model.overlap);
  FL_DCHECK(host_gpus >= 1 && host_gpus <= gpus, "{} of {} GPUs", host_gpus, gpus);
  const double others = gpus - 1.0;
  const double part_mb = model.gradients_mb / gpus;
  double traffic_mb = 2 * others * part_mb;
  double latency_ms = 2 * others * latency_us / 1000.0;
  if (exchange == Exchange::kParameterServers) {
    // A gang within one host uses no uplink, and each worker exchanges with all others.
    const double elsewhere = host_gpus == gpus ? others : gpus - host_gpus;
    const double sent_mb = (host_gpus == gpus ? 1 : host_gpus) * part_mb;
    traffic_mb = 2 * elsewhere * std::max(sent_mb, model.largest_tensor_mb);
    latency_ms = 2 * std::min(others, 1.0) * latency_us / 1000.0;
  }
  return {.compute_ms = compute_ms,
          .hidden_ms = model.overlap * compute_ms,
          .exposed = model.exposed,
          .traffic_mb = traffic_mb,
          .latency_ms = latency_ms,
          .gbps = gbps};
}

}  // namespace fairlead
