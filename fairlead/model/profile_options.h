// Options of profiles (known_speed.h): the source of a measured speed, the time to measure it, its error, and
// the time after which it is forgotten.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/unknown_speed.h"

#include <cstdint>
#include <optional>

namespace fairlead {

enum class SpeedSource : std::uint8_t { kTable, kMeasured };

struct ProfileOptions {
  SpeedSource source = SpeedSource::kTable;
  Duration length = seconds(10);  // running time after the overhead; chosen: some mini-batches
  double noise = 0;               // largest relative error of a profiled rate, 0..0.9
  // Time for which a measured rate is known after the last run that measured it; none: for ever.
  std::optional<Duration> age{};
  std::uint64_t seed = 0;  // for the noise
  GpuFactors factors{};    // factors of GPU types, for unmeasured rates; empty: all types are equal
};

}  // namespace fairlead
