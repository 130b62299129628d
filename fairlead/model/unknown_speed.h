// Substitutes for the speed of a model on a GPU type without a row in the model's profile.
//
// The table of GPU types has one factor per type: its training speed relative to the other types, over many models. A
// factor is less accurate than a row of the model, so the table is used only if the settings choose it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class UnknownSpeed : std::uint8_t {
  kError,  // an error, if a job needs the speed
  kGeneric,  // scaled by the table of GPU types; also of models without a profile, which else have speed 1
  kSlowest,  // the model's slowest known speed
  kOne,      // as fast as the run's reference type
};

struct GpuFactor {
  std::string gpu_type;
  double factor = 1;      // above 0
  std::string source{};   // source of the measurement
  std::string estimated;  // method of the estimate; empty: measured
};

struct GpuFactors {
  std::string source;
  std::vector<GpuFactor> types;

  // Returns the entry of that GPU type or of its product, ignoring case; null if there is none.
  const GpuFactor* find(std::string_view gpu_type) const;
};

struct UnknownSpeeds {
  UnknownSpeed rule = UnknownSpeed::kError;
  GpuFactors factors{};  // for kGeneric
};

// An unmeasured speed, and the number of jobs that need it.
struct AssumedSpeed {
  std::string model;
  std::string gpu_type;
  std::string as;  // "as slow as on K80"
  std::int64_t jobs = 0;
  friend bool operator==(const AssumedSpeed&, const AssumedSpeed&) = default;
};

// The substitute for a GPU type: one of the `known` types, and the factor for its rates.
struct ScaledFrom {
  std::size_t known = 0;  // position in `known`
  double factor = 1;
};
// Returns the known type with the factor nearest to the factor of `type`, by ratio; the first on ties. Returns nullopt
// if the table has no factor for `type`, or no factor for any of `known`. O(known x types).
std::optional<ScaledFrom> scaled_from(const GpuFactors& factors, std::string_view type,
                                      std::span<const std::string> known);

}  // namespace fairlead
