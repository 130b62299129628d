// The energy and the price of a run, by the settings `power` and `prices`.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/metrics/run_facts.h"
#include "fairlead/metrics/weighted_gpu_time.h"
#include "fairlead/model/cluster.h"
#include "fairlead/run/settings.h"

#include <optional>
#include <vector>

namespace fairlead {

// Measures GPUs alone, without servers, networks and cooling.
class CostMeters {
 public:
  // Error: a GPU type of the cluster has no power or no price, and the settings ask for it.
  static Result<CostMeters> make(const Cluster& cluster, const Settings& settings);

  // The sinks that get all records of the run. Valid as long as this object stays where it is.
  std::vector<RecordSink*> sinks();
  // REQUIRES: End was passed to the sinks. O(jobs).
  GpuCosts costs(std::size_t jobs) const;

 private:
  // None: not asked for. Power at idle is also none if a type has no published one.
  std::optional<WeightedGpuTime> busy_;
  std::optional<WeightedGpuTime> idle_;
  std::optional<WeightedGpuTime> price_;
};

}  // namespace fairlead
