// The pace of a job at a place under Dally: its speed there, and the speed that its traffic takes from other jobs.
//
// A rate is the tier's rate (tiers.h) with the links shared as in the draft (kit/crowding.h). Ours.
//
// present_rate: O(slices). The others: finding a place (places.h) and Crowding on top. Jobs of one kind share the pace on
// free GPUs, unless links are shared or other resources than GPUs are short.
#pragma once

#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/kit/crowding.h"

#include <span>
#include <unordered_map>

namespace fairlead {

struct DallyPace {
  double rate = 0;            // 0: it does not run
  double loss_of_others = 0;  // GPUs
};

class DallyPaces {
 public:
  // Both must outlive it.
  DallyPaces(const TierTable& tiers, Crowding& crowding) : tiers_(tiers), crowding_(crowding) {}

  // Starts a round: the free GPUs are others than in the last one.
  void begin() { on_free_gpus_.clear(); }

  // Returns the rate of the slowest member of the job's gang. REQUIRES: it has a gang in the plan.
  double present_rate(const View& view, const Plan& plan, JobId job) const;
  // Returns the pace on that gang.
  DallyPace present(const View& view, const Plan& plan, JobId job);
  // Returns the pace that a waiting job could have at once if it did not wait for better; rate 0 if there is no room.
  // REQUIRES: since begin(), the free GPUs are the same.
  DallyPace on_free_gpus(const View& view, Plan& plan, JobId job);
  // Returns the pace at the place once the victims are gone. The draft is unchanged on return.
  DallyPace without(const View& view, Plan& plan, std::span<const JobId> victims, JobId job,
                    const DallyPlace& place);

 private:
  DallyPace find_on_free_gpus(const View& view, Plan& plan, JobId job, const JobTiers& tiers);

  const TierTable& tiers_;
  Crowding& crowding_;
  std::unordered_map<const JobTiers*, DallyPace> on_free_gpus_;  // by kind of job, in this round
};

}  // namespace fairlead
