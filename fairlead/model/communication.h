// What data-parallel training exchanges, and how long that takes.
//
// Each iteration computes, and adds up the gradients of its n workers. By a ring all-reduce
// (Patarasuk and Yuan, 2009) these are 2 (n - 1) steps, in which each worker sends 2 (n - 1) / n of
// the gradients over the slowest link that the ring crosses. By parameter servers, one beside every
// worker, workers send gradients and fetch parameters: 2 steps. A tensor lies on one server, so the
// server of the largest one sends and receives at least that much for each of the n - 1 others,
// which is why Tiresias consolidates models of high skew (Gu et al., NSDI 2019, section 3.3);
// evenly spread tensors cost what a ring does but for latency. Where h of the n workers share a host,
// they and their servers exchange with the n - h others over its uplink. Part of the exchange overlaps
// computation: at most a fraction of the computation, as gradients come with the backward pass, and
// all but a fraction of the exchange, as those of the first layers come last and workers wait for
// the slowest. The rest lengthens the iteration.
//
// Units: MB are 10^6 bytes, Gbit/s one way, milliseconds. Every function is O(1).
#pragma once

#include "fairlead/model/cluster.h"

#include <array>
#include <cstdint>
#include <string>

namespace fairlead {

// How the speed of a gang follows from where it runs.
enum class NetworkKind : std::uint8_t {
  kProfiled,    // a factor per model and tier, as measured
  kAnalytic,    // from what the model exchanges and the links of the tier
  kContention,  // the same, but gangs that cross the same links share them
};

// How workers add up their gradients.
enum class Exchange : std::uint8_t { kRing, kParameterServers };

struct NetworkOptions {
  NetworkKind kind = NetworkKind::kProfiled;
  Exchange exchange = Exchange::kRing;
  std::array<double, kTiers> congestion = {1, 1, 1, 1};  // by Tier: divides the links' speed
  // Of kContention: extra time per MB for each gang beyond the first on the busiest link.
  double penalty_ms_per_mb = 0;
};

// One model's figures; the time is that of one GPU of `gpu_type`.
struct Communication {
  double gradients_mb = 0;
  double largest_tensor_mb = 0;  // the largest single tensor; 0: not known
  double compute_ms = 0;
  double overlap = 0;    // the fraction of compute_ms that can overlap communication, 0 to 1
  double exposed = 0;    // the fraction of the exchange that cannot overlap, 0 to 1
  std::string gpu_type;  // empty: the first type of the model's rates
};

// One iteration of a gang.
struct Iteration {
  double compute_ms = 0;
  double hidden_ms = 0;   // of communication at most
  double exposed = 0;     // the fraction of it that is never hidden
  double traffic_mb = 0;  // one way over the busiest link
  double latency_ms = 0;
  double gbps = 0;  // of the slowest link it crosses, used by no other gang

  // Its length at a bandwidth, if it also waits for others. At least compute_ms.
  double ms(double at_gbps, double waits_ms = 0) const;
  double alone_ms() const { return ms(gbps); }
};

// How long `mb` take at `gbps`. REQUIRES: mb >= 0, gbps > 0.
double transfer_ms(double mb, double gbps);

// The links after congestion. REQUIRES: every factor is above 0.
Links congested(Links links, const std::array<double, kTiers>& congestion);

// The bandwidth of a ring of that tier by itself: of the slowest link from node to tier.
double ring_gbps(const Links& links, Tier tier);

// `compute_ms`: of the slowest member. REQUIRES: gpus >= 1.
Iteration iteration_of(const Communication& model, double compute_ms, std::uint32_t gpus, Tier tier,
                       const Links& links, Exchange exchange = Exchange::kRing);
// The same where the gang's bandwidth alone is known. `host_gpus`: the most of its GPUs that share a
// host's uplink; by a ring only one of them sends over it, servers and workers all do.
Iteration iteration_at(const Communication& model, double compute_ms, std::uint32_t gpus,
                       double gbps, double latency_us, Exchange exchange,
                       std::uint32_t host_gpus = 1);

}  // namespace fairlead
