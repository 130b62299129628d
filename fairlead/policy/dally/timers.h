// The delay timers of Dally: how long a job waits for GPUs close together before it accepts wider
// tiers, by size of its gang. Rule: arXiv 2401.16492, of which only the abstract was available; the
// tuner is ours.
//
// For each size class and tier, the tuner keeps the waits of the last jobs that accepted that tier,
// in a sliding window: at most kSamplesMax, none older than kAge. A timer is the mean of its
// window: it pays to wait as long as offers have lately taken to come. Without samples it falls
// back to the fixed value. A job therefore waits no longer than that for a tier that is never
// offered any more.
//
// In every mode a rack timer is at least as long as the node timer. Invariant: samples of a window
// are in order of time.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/dally/tiers.h"

#include <array>
#include <cstdint>
#include <vector>

namespace fairlead {

struct DallyTimerOptions {
  enum class Mode : std::uint8_t { kAuto, kManual, kNoWait, kFullyConsolidated };
  Mode mode;
  Duration node;  // fixed in manual mode, else the timer without samples
  Duration rack;
  Duration least;  // lower bound of a tuned timer, at most DallyTimers::kMost
};

class DallyTimers {
 public:
  static constexpr Duration kForever = {kMsMax};
  // Chosen: the upper bound of a tuned timer, and the waits that it is computed from.
  static constexpr Duration kMost = seconds(43'200);
  static constexpr std::size_t kSamplesMax = 30;
  static constexpr Duration kAge = seconds(86'400);

  // Waiting times after which a job accepts a rack, and the network. node <= rack.
  struct Timers {
    Duration node;
    Duration rack;
  };

  explicit DallyTimers(const DallyTimerOptions& options) : options_(options) {}

  // Returns the class: 1 GPU is class 0, 2 are 1, 3 and 4 are 2, 5 to 8 are 3, and so on.
  static std::size_t size_class(std::uint32_t gpus);
  static constexpr std::size_t kSizeClasses = 33;

  // Returns the timers of a class. O(1); after a sample was added or grew too old, O(kSamplesMax).
  // REQUIRES: now never goes back.
  Timers of(std::size_t size_class, Time now);
  // Called when a job of that class accepted a gang of that tier after `waited`. REQUIRES: now
  // never goes back. O(kSamplesMax).
  void accepted(std::size_t size_class, DallyTier tier, Time now, Duration waited);

  void fields(Archive& archive);

 private:
  struct Sample {
    Time at;
    Duration waited;
    void fields(Archive& archive) { archive(at, waited); }
  };
  struct Window {
    std::vector<Sample> samples;
    // Derived: the timer, and the time until which it is valid.
    Duration timer;
    Time until{-1};
    void fields(Archive& archive) { archive(samples); }
  };

  Duration tuned(Window& window, Time now, Duration fallback) const;

  DallyTimerOptions options_;
  std::array<std::array<Window, 2>, kSizeClasses> windows_;  // windows of nodes, of racks
};

}  // namespace fairlead
