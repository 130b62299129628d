// The traffic of data-parallel training, and its duration.
//
// Each iteration computes, and adds up the gradients of its n workers.
//
//  - A ring all-reduce (Patarasuk and Yuan, 2009) has 2 (n - 1) steps. In total each worker sends 2 (n - 1) / n of the
//    gradients over the slowest link that the ring crosses.
//  - Parameter servers, one beside every worker: workers send gradients and fetch parameters, in 2 steps. A tensor is
//    on one server. The server of the largest tensor sends and receives at least that tensor for each of the n - 1
//    other workers. This is why Tiresias consolidates models of high skew (Gu et al., NSDI 2019, section 3.3). Evenly
//    spread tensors cost the same as a ring, except for latency. If h of the n workers share a host, they and their
//    servers exchange with the n - h others over the host's uplink.
//
// A part of the exchange overlaps computation. It is at most a fraction of the computation, because gradients appear
// during the backward pass. Another fraction of the exchange never overlaps, because the gradients of the first layers
// come last and workers wait for the slowest. The part without overlap lengthens the iteration.
//
// Units: MB are 10^6 bytes, Gbit/s one way, milliseconds. Every function is O(1).
#pragma once

#include "fairlead/model/cluster.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace fairlead {

// The model by which the speed of a gang depends on its placement.
enum class NetworkKind : std::uint8_t {
  kProfiled,    // a factor per model and tier, as measured
  kAnalytic,    // from the model's traffic and the links of the tier
  kContention,  // the same, but gangs that cross the same links share them
};

// How workers add up their gradients.
enum class Exchange : std::uint8_t { kRing, kParameterServers };

struct NetworkOptions {
  NetworkKind kind = NetworkKind::kProfiled;
  Exchange exchange = Exchange::kRing;
  std::array<double, kTiers> congestion = {1, 1, 1, 1};  // by Tier: divides the links' speed
  // For kContention: extra time per MB for each gang beyond the first on the busiest link.
  double penalty_ms_per_mb = 0;
};

// One model's figures; the compute time is for one GPU of `gpu_type`.
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
  double hidden_ms = 0;   // upper limit of overlapped communication
  double exposed = 0;     // the fraction of communication that never overlaps
  double traffic_mb = 0;  // one way over the busiest link
  double latency_ms = 0;
  double gbps = 0;  // bandwidth of the slowest crossed link, without other gangs

  // Returns the length of the iteration at a bandwidth, with `waits_ms` of waiting for other gangs. At least
  // compute_ms.
  double ms(double at_gbps, double waits_ms = 0) const;
  double alone_ms() const { return ms(gbps); }
};

// Returns the time to send `mb` at `gbps`. REQUIRES: mb >= 0, gbps > 0.
double transfer_ms(double mb, double gbps);

// Returns the links after congestion. REQUIRES: every factor is above 0.
Links congested(Links links, const std::array<double, kTiers>& congestion);

// Returns the bandwidth of a single ring of that tier: the slowest link from node to tier.
double ring_gbps(const Links& links, Tier tier);

// Returns an iteration on the tier's links. `compute_ms`: of the slowest member. REQUIRES: gpus >= 1.
Iteration iteration_of(const Communication& model, double compute_ms, std::uint32_t gpus, Tier tier,
                       const Links& links, Exchange exchange = Exchange::kRing);
// Returns the computing time of an iteration that takes `ms` alone: the inverse of iteration_of(). Nullopt if the exchange
// alone takes as long, so the links are faster than stated. REQUIRES: gpus >= 1.
std::optional<double> compute_ms_of(const Communication& model, double ms, std::uint32_t gpus,
                                    Tier tier, const Links& links);
// Returns an iteration at a given bandwidth of the gang. `host_gpus`: the largest number of its GPUs that share a
// host's uplink. In a ring only one of them sends over the uplink; with parameter servers, all servers and workers do.
Iteration iteration_at(const Communication& model, double compute_ms, std::uint32_t gpus,
                       double gbps, double latency_us, Exchange exchange,
                       std::uint32_t host_gpus = 1);

}  // namespace fairlead
