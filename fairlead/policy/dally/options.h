// The options of "dally"; docs/policies/dally.md explains them.
#pragma once

#include "fairlead/policy/dally/timers.h"
#include "fairlead/policy/registry.h"

#include <cstdint>
#include <vector>

namespace fairlead {

enum class DallyPreempt : std::uint8_t {
  kNone,
  kLas,      // jobs served less, by classes as in Tiresias, go first
  kNetwork,  // jobs that suffer more from the network go first
  kBoth,     // by class, then by sensitivity
};
enum class DallyClasses : std::uint8_t {
  kAttained,  // jobs that had less GPU time are of an earlier class
  kLeft,      // jobs with less GPU time left are
};
enum class DallyScore : std::uint8_t {
  kNwSens,    // (slow - 1) x fraction of time spent on communication x fraction of work left
  kSlowdown,  // slow - 1
};

struct DallyOptions {
  DallyTimerOptions timers;
  DallyPreempt preempt;
  DallyScore score;
  DallyClasses classes;
  std::vector<std::int64_t> limits_gpu_s;  // between the classes, increasing
  Duration round;
  Duration switch_cost;  // expected of a restart

  // Returns true if jobs move, and make room for others, to gain speed.
  bool moves_for_speed() const {
    return preempt == DallyPreempt::kNetwork || preempt == DallyPreempt::kBoth;
  }
  bool tunes_timers() const { return timers.mode == DallyTimerOptions::Mode::kAuto; }
};

// Error: limits that do not increase. REQUIRES: they are options of "dally".
Result<DallyOptions> dally_options(const PolicyOptions& options);

}  // namespace fairlead
