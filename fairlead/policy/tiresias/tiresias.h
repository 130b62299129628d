// Tiresias: two-dimensional, discretised least attained service (Gu et al., NSDI 2019).
//
// Jobs are in a few FIFO queues. A newcomer joins the first; a job whose service reaches the
// limit of its queue moves to the tail of the next. The cluster goes to the queues in turn. Within
// a queue running jobs come before waiting ones, so jobs of one queue do not preempt each other.
//
// Invariants:
//  1. A job is in exactly one place: in its queue's list of running jobs, or in the ClassQueue
//     under its queue's number. There, jobs that insist on consolidation are apart from the others.
//  2. A job changes queue at the exact millisecond at which its service reaches the limit, unless
//     late_demotion is set.
//
// Cost of a decision: O(news + queues + classes + changes) on clusters with one GPU type; with
// several types, or with the Gittins index, O(running) if a job waits.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/registry.h"
#include "fairlead/policy/tiresias/gittins.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fairlead {

enum class ServiceUnit : std::uint8_t {
  kGpuTime,  // GPUs x running time: dlas-gpu
  kTime,     // running time: dlas
};

struct TiresiasOptions {
  Placement placement;
  // Jobs with a model skew (KnownSpeed::skew) above this are consolidated instead.
  std::optional<double> consolidate_above;
  ServiceUnit unit;
  // One for each queue except the last, increasing; seconds or GPU-seconds.
  std::vector<std::int64_t> limits_s;
  // A waiting job that ran before returns to the first queue once it has waited for this many
  // thousandths of its running time; 0: never.
  std::int64_t promote_thousandths;
  // Orders each queue by Gittins index.
  std::optional<GittinsIndex> gittins;
  // For conformance tests only: the Tiresias simulator ignores a job's GPUs when it computes when
  // the job will reach its limit. So it looks too late unless something else happens before.
  bool late_demotion = false;
};

// Errors: limits that do not increase by whole numbers, a gittins_file that cannot be read.
// REQUIRES: they are options of "tiresias".
Result<TiresiasOptions> tiresias_options(const PolicyOptions& options);
std::unique_ptr<Policy> make_tiresias(TiresiasOptions options);

}  // namespace fairlead
