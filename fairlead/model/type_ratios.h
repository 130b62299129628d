// TypeRatios: the speed ratios between GPU types, for models that were measured on only one of two types.
//
// The gain of one type over another is the geometric mean of the gains of all models that were measured on both. The
// table of GPU types counts as one more model if it has both types, so it decides if there are no measurements. Types
// without any information, and types of one product, count as equally fast. (ours)
//
// see, against_mean: O(types). ratio: O(1). Memory: 8 bytes x types x profiles.
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/unknown_speed.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fairlead {

class TypeRatios {
 public:
  // `cluster` must outlive it. `factors` may be empty.
  TypeRatios(const Cluster& cluster, const GpuFactors& factors);

  // Records a profile's speed per GPU on that type, in any unit of the profile; 0: no longer known.
  void see(std::size_t profile, GpuTypeId type, double per_gpu);
  // Returns speed on `of` / speed on `on`, above 0.
  double ratio(GpuTypeId of, GpuTypeId on) const;
  // Returns speed on `of` / speed on the mean GPU of the cluster (geometric).
  double against_mean(GpuTypeId of) const;

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  struct Gains {
    std::int64_t log_units = 0;  // sum
    std::int64_t models = 0;
  };
  std::size_t pair(std::size_t of, std::size_t on) const { return of * types_ + on; }
  void count(std::size_t profile, std::size_t type, int times);

  const Cluster& cluster_;
  const std::size_t types_;
  std::vector<Gains> gains_;  // by pair
  std::vector<std::int64_t>
      logs_;  // logarithms of speeds, by profile and product; kUnknown: not known
};

}  // namespace fairlead
