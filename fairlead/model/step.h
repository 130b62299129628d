// The steps from the engine to a backend: the difference between the jobs' current gangs and the plan.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

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
