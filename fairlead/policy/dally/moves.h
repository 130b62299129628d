// A round of Dally: jobs take GPUs from other jobs, or move to a faster place.
//
// In order, each waiting job, and each running one that would be faster elsewhere, looks for the
// place with the largest gain of all jobs (gains.h) at the pace that it would have there (paces.h).
// The restarts of the jobs that it stops, and their possible losses elsewhere, count as costs
// (victims.h).
//
// Cost of a round: O(running + waiting) and, per job that may gain by other jobs, the cost of
// DallyVictims.
#pragma once

#include "fairlead/policy/dally/gains.h"
#include "fairlead/policy/dally/victims.h"

#include <optional>
#include <vector>

namespace fairlead {

class DallyMoves {
 public:
  // The arguments must outlive it.
  DallyMoves(const DallyOptions& options, const TierTable& tiers, const DallyOrder& order,
             DallyWaiting& waiting, Crowding& crowding)
      : options_(options),
        tiers_(tiers),
        order_(order),
        waiting_(waiting),
        crowding_(crowding),
        paces_(tiers, crowding),
        gains_(options, tiers, order),
        victims_(options) {}

  void run(const View& view, Plan& plan);
  // Returns true if a running job would gain so much speed elsewhere that it would pay for its
  // restart.
  bool could_be_faster(const View& view, const Plan& plan, JobId job) const;

 private:
  struct Offer {
    DallyPlace place;
    double gain = 0;  // savings less costs, GPU-seconds
    std::vector<JobId> victims{};
  };

  // Jobs that look for a place.
  void collect_seekers(const View& view, Plan& plan);
  bool may_gain_by_preemption(const View& view, const OrderKey& key) const;
  void collect_runners(const View& view, const Plan& plan);

  // Places for them.
  void improve(const View& view, Plan& plan, const DallySeeker& seeker);
  std::optional<Offer> best_offer(const View& view, Plan& plan, const DallySeeker& seeker);
  void look_for_better(const View& view, Plan& plan, const DallySeeker& seeker, Offer offer,
                       std::optional<Offer>& best);
  void carry_out(const View& view, Plan& plan, const DallySeeker& seeker, const Offer& offer);

  static bool has_room(const View& view, Plan& plan, JobId job, const Offer& offer);
  double gain(const View& view, Plan& plan, const DallySeeker& seeker, const Offer& offer);

  const DallyOptions& options_;
  const TierTable& tiers_;
  const DallyOrder& order_;
  DallyWaiting& waiting_;
  Crowding& crowding_;
  DallyPaces paces_;
  const DallyGains gains_;

  // State of the present round.
  std::vector<DallySeeker> seekers_;
  DallyVictims victims_;
};

}  // namespace fairlead
