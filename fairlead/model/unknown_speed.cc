#include "fairlead/model/unknown_speed.h"

#include "fairlead/model/cluster.h"
#include "fairlead/model/speed.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

const GpuFactor* GpuFactors::find(std::string_view gpu_type) const {
  for (const std::string& key : {type_key(gpu_type), type_key(product_of_type(gpu_type))}) {
    const auto found = std::ranges::find_if(
        types, [&](const GpuFactor& entry) { return type_key(entry.gpu_type) == key; });
    if (found != types.end()) return &*found;
  }
  return nullptr;
}

std::optional<ScaledFrom> scaled_from(const GpuFactors& factors, std::string_view type,
                                      std::span<const std::string> known) {
  const GpuFactor* wanted = factors.find(type);
  if (wanted == nullptr) return std::nullopt;
  std::optional<ScaledFrom> nearest;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const GpuFactor* at = factors.find(known[i]);
    if (at == nullptr) continue;
    const double factor = wanted->factor / at->factor;
    if (!nearest || std::abs(std::log(factor)) < std::abs(std::log(nearest->factor))) {
      nearest = ScaledFrom{i, factor};
    }
  }
  return nearest;
}

}  // namespace fairlead
