// Random worlds with a little of everything: several GPU types and racks, jobs with models and
// elastic gangs, costs, nodes that fail. Every world leaves some ingredients out altogether,
// because some errors only show if the rest is simple.
#pragma once

#include "testing/world.h"

#include <cstdint>

namespace fairlead {

// The ingredients that a world may have; the draw decides whether it has them.
struct Ingredients {
  bool racks = true;
  bool types = true;    // several GPU types
  bool models = true;   // speeds that depend on GPU type and tier
  bool elastic = true;  // jobs that take from gpus_min to gpus_max GPUs
  bool tasks = true;    // jobs with tasks of several GPUs
  bool levels = true;   // jobs that require or prefer a level of the network
  bool logs = true;     // jobs with the limit, priority, partition or start of a log
  bool costs = true;
  bool resources = false;  // CPU and memory of nodes and jobs
  bool faults = false;
  bool unreliable =
      false;  // late, failing, mixed up until kCalm, with users who come and operators
};

// 1 to 18 nodes, 1 to 40 jobs, bursts and quiet times, gangs that fit and gangs that hardly do. The
// overhead of one run of a job is below the shortest slices of policy_variants(), 3 s and 5
// GPU-seconds: a job that only ever pays for its switches never ends. The clock stops at kWorldEnd
// all the same. The same seed gives the same world.
constexpr Time kWorldEnd = {100 * 3'600'000};
constexpr Time kCalm = {600'000};
World drawn_world(std::uint64_t seed, const Ingredients& may);

}  // namespace fairlead
