// TypeRatios: how fast GPU types are against each other, for models that were measured on one of two.
//
// What a model gains by another type is told by the models that were measured on both: the geometric
// mean of their gains. The table of GPU types, where it knows both, counts as one more model, so it
// decides where nothing was measured. Types that nothing tells of, and those of one product, are
// alike. (ours)
//
// see, against_mean: O(types). ratio: O(1). Memory: 8 bytes x types x profiles.
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/unknown_speed.h"

#include <cstddef>
#include <vector>

namespace fairlead {

class TypeRatios {
 public:
  // `cluster` must outlive it. `factors` may be empty.
  TypeRatios(const Cluster& cluster, const GpuFactors& factors);

  // A profile's speed per GPU on that type, in a unit of its own; 0: it is not known any more.
  void see(std::size_t profile, GpuTypeId type, double per_gpu);
  // The speed on `of` / that on `on`, above 0.
  double ratio(GpuTypeId of, GpuTypeId on) const;
  // The speed on `of` / that on the mean GPU of the cluster (geometric).
  double against_mean(GpuTypeId of) const;

 private:
  struct Gains {
    double log_sum = 0;
    double models = 0;
  };
  std::size_t pair(std::size_t of, std::size_t on) const { return of * types_ + on; }
  void count(std::size_t profile, std::size_t type, double models);

  const Cluster& cluster_;
  const std::size_t types_;
  std::vector<Gains> gains_;  // by pair
  std::vector<double> logs_;  // of speeds, by profile and product; NaN: not known
};

}  // namespace fairlead
