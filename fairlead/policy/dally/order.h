// The order of jobs under Dally: by class, then by arrival or, in a round, by sensitivity to the network.
// A class holds jobs that had, or have left, about the same GPU time.
//
// O(classes) per key; looking up the tiers of a job may come on top (tiers.h).
#pragma once

#include "fairlead/policy/dally/options.h"
#include "fairlead/policy/dally/tiers.h"
#include "fairlead/policy/kit/class_queue.h"

namespace fairlead {

class DallyOrder {
 public:
  // The arguments must outlive it.
  DallyOrder(const DallyOptions& options, const TierTable& tiers)
      : options_(options), tiers_(tiers) {}

  // Returns the expected cost of communication for the job, from its slowdown at its widest tier
  // relative to its best one. 0 for a gang that must mix types.
  double score(const View& view, JobId job) const;
  std::int64_t service_class(const View& view, JobId job) const;
  // Returns the service that the job may still have before it falls into a later class, GPU-seconds; infinite
  // if it never does. REQUIRES: it is not in the last.
  double left_in_class(const View& view, JobId job, std::int64_t service_class) const;
  bool is_last_class(std::int64_t service_class) const {
    return static_cast<std::size_t>(service_class) >= options_.limits_gpu_s.size();
  }
  // In the queue.
  OrderKey queue(const View& view, JobId job) const;
  // As the queue, but within one class the more sensitive job first.
  OrderKey round(const View& view, JobId job) const;

 private:
  const DallyOptions& options_;
  const TierTable& tiers_;
};

}  // namespace fairlead
