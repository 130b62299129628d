// What the engine asks a backend to do: the difference between what jobs held and what the plan
// says.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlead {

// How a placement relates to the job's past.
enum class PlaceKind : std::uint8_t {
  kStart,    // no host keeps anything of it: it never ran, or lost its hosts
  kResume,   // on exactly the slices it was stopped on
  kMigrate,  // anywhere else
};
constexpr std::size_t kPlaceKinds = 3;
std::string_view place_kind_name(PlaceKind kind);

struct Step {
  enum class Kind : std::uint8_t { kStop, kPlace };
  Kind kind = Kind::kStop;
  JobId job;
  HoldId hold = 0;  // that it begins, or ends. A step that comes twice is to be carried out once
  // Of a place step; valid during apply(). A job with copies has one step for each, in order.
  PlaceKind place = PlaceKind::kStart;  // of all copies together
  std::uint32_t copy = 0;
  std::uint32_t copies = 1;
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;  // beside gang: the GPUs granted on each node

  // Filled in by the backend while it applies a place step: what it expects of the hold.
  Rate rate;          // speed relative to the job's reference gang; 0 if not known beforehand
  Duration overhead;  // start, resume or migration time, during which no work is done
  Rate locality;      // the factor in `rate` that is due to the gang's tier; 1 at the best tier
};

}  // namespace fairlead
