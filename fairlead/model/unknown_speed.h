// What stands in for the speed of a model on a GPU type that the model's profile has no row for.
//
// The table of GPU types has one factor for each: how fast it trains relative to the others, over
// many models. It says less than a row of the model's own, and so it is used where asked for only.
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
  kError,    // refused, where it matters
  kGeneric,  // scaled by the table of GPU types
  kSlowest,  // the model's slowest known speed
  kOne,      // as fast as the run's reference type
};

struct GpuFactor {
  std::string gpu_type;
  double factor = 1;      // above 0
  std::string source{};   // where it was measured
  std::string estimated;  // how it was estimated; empty: it was measured
};

struct GpuFactors {
  std::string source;
  std::vector<GpuFactor> types;

  // The entry of that GPU type or of its product, whatever the case; null if there is none.
  const GpuFactor* find(std::string_view gpu_type) const;
};

struct UnknownSpeeds {
  UnknownSpeed rule = UnknownSpeed::kError;
  GpuFactors factors{};  // for kGeneric
};

// A speed that was not measured, and the jobs for which it matters.
struct AssumedSpeed {
  std::string model;
  std::string gpu_type;
  std::string as;  // "as slow as on K80"
  std::int64_t jobs = 0;
  friend bool operator==(const AssumedSpeed&, const AssumedSpeed&) = default;
};

// Which of `known` GPU types stands in for `type`, and by what its rates are to be multiplied.
struct ScaledFrom {
  std::size_t known = 0;  // position in `known`
  double factor = 1;
};
// The known type whose factor is nearest to that of `type`, by ratio; the first of equals. None if
// the table has no factor for `type`, or for none of `known`. O(known x types).
std::optional<ScaledFrom> scaled_from(const GpuFactors& factors, std::string_view type,
                                      std::span<const std::string> known);

}  // namespace fairlead
