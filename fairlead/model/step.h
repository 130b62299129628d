// The steps from the engine to a backend: the difference between the jobs' current gangs and the plan.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fairlead {

// The relation of a placement to the job's previous run.
enum class PlaceKind : std::uint8_t {
  kStart,    // no host has state of the job: it never ran, or lost its hosts
  kResume,   // on exactly the slices of its last run
  kMigrate,  // anywhere else
};
constexpr std::size_t kPlaceKinds = 3;
std::string_view place_kind_name(PlaceKind kind);

// The reason for which a step, or the job's user, takes a job's gang. In the order of the numbers in the journal;
// step.cc has the names and meanings.
enum class StopCause : std::uint8_t {
  kPolicy,     // no nearer reason; all stops by policies in journals of older versions
  kCancelled,  // by its user: the record Cancelled follows
  kHeld,       // by its user: the record Held follows
  kTurn,
  kRound,
  kPriority,
  kMove,
  kShare,
  kQuota,
  kDrain,
  kRestart,
};
constexpr std::size_t kStopCauses = 11;

struct StopCauseInfo {
  std::string_view name;  // in files
  std::string_view text;  // the reason as a clause: "its turn was over"
};
const StopCauseInfo& stop_cause_info(StopCause cause);

inline std::string_view stop_cause_name(StopCause cause) { return stop_cause_info(cause).name; }

// Returns whether the job's user asked for the stop. All other stops are preemptions.
constexpr bool is_by_user(StopCause cause) {
  return cause == StopCause::kCancelled || cause == StopCause::kHeld;
}

struct Step {
  enum class Kind : std::uint8_t { kStop, kPlace };
  Kind kind = Kind::kStop;
  JobId job;
  RunId run = 0;  // the run that the step starts or ends; backends carry out repeated steps once
  // For a place step; valid during apply(). A job with copies has one step for each copy, in order.
  PlaceKind place = PlaceKind::kStart;  // the same for all copies
  std::uint32_t copy = 0;
  std::uint32_t copies = 1;
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;  // parallel to `gang`: the granted GPUs on each node

  // Expectations of the backend, which it fills in while it applies a place step.
  Rate rate;          // speed relative to the job's reference gang; 0 if not known beforehand
  Duration overhead;  // start, resume or migration time, during which no work is done
  Rate locality;      // the factor in `rate` that is due to the gang's tier; 1 at the best tier
};

}  // namespace fairlead
