// The gains of a place under Dally, in GPU-seconds: those of the job that goes there, and of other jobs (ours).
//
// At a higher rate a job needs less GPU time until its end; a running job pays a restart. Others gain the GPU time that its
// traffic took from them at its old place, and lose GPU time by its traffic at the new one. A waiting job that stops jobs of
// a later class gains its turn as well, because less served jobs go first. DallyVictims has the losses of the jobs that it
// stops.
//
// All O(1), except looking up the tiers of a job (tiers.h), and O(classes) for turns.
#pragma once

#include "fairlead/policy/dally/order.h"
#include "fairlead/policy/dally/paces.h"
#include "fairlead/policy/dally/waiting.h"

namespace fairlead {

// A job that looks for a better place: one that waits, or would run faster there.
struct DallySeeker {
  OrderKey key;
  bool is_running = false;
  DallyWaiting::Types types{};  // where it would go
  DallyPace otherwise;          // its pace if it does not move: now, or on the free GPUs
  double best = 0;              // rate of a waiting job at its best tier
};

class DallyGains {
 public:
  // The arguments must outlive it.
  DallyGains(const DallyOptions& options, const TierTable& tiers, const DallyOrder& order)
      : options_(options), tiers_(tiers), order_(order) {}

  // Returns the savings of the job from running at one rate instead of another to its end; 0 unless both are above 0.
  static double of_rate(const View& view, JobId job, double slow, double fast);
  // Returns the cost of a restart of the job.
  double restart(const View& view, JobId job) const;
  // Returns the savings of the seeker and others from its new pace, less its own restart.
  double saved(const View& view, const DallySeeker& seeker, const DallyPace& there) const;
  // Returns the same if no link at the place were crowded: the most that it can save there.
  double most_saved(const View& view, const DallySeeker& seeker, const DallyPlace& place) const;
  // Returns the service that a waiting job would otherwise wait for: until it leaves its class, if it lives that long. 0
  // for a running job, and in the last class.
  double value_of_turn(const View& view, const DallySeeker& seeker) const;

 private:
  const DallyOptions& options_;
  const TierTable& tiers_;
  const DallyOrder& order_;
};

}  // namespace fairlead
