// A round of Dally: jobs take GPUs from other jobs, or move to a faster place.
//
// In order, each waiting job, and each running one that would be faster elsewhere, looks for the
// place with the largest savings, in GPU-seconds:
//
//  - its own savings from being faster there than at its place, or at a place it could have now;
//  - the savings of others on the links that it leaves, less their losses on its new links;
//  - the value of its turn, if it waits and all victims are of a later class: less served jobs go
//    first;
//  - less restarts, and the possible losses of victims by being sent elsewhere.
//
// Speeds include the sharing of links in the draft (kit/crowding.h).
//
// Cost of a round: O(running + waiting) and, per job that may gain by other jobs, the cost of
// DallyVictims.
#pragma once

#include "fairlead/policy/dally/order.h"
#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/dally/victims.h"
#include "fairlead/policy/dally/waiting.h"
#include "fairlead/policy/kit/crowding.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
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
        victims_(options) {}

  void run(const View& view, Plan& plan);
  // Returns true if a running job would gain so much speed elsewhere that it would pay for its
  // restart.
  bool could_be_faster(const View& view, const Plan& plan, JobId job) const;

 private:
  // The speed of a job at a place, and its cost to other jobs on its links.
  struct Pace {
    double rate = 0;            // 0: it does not run
    double loss_of_others = 0;  // GPUs
  };
  // A job that looks for a better place: one that waits, or would run faster there.
  struct Seeker {
    OrderKey key;
    bool is_running = false;
    DallyWaiting::Types types{};  // where it would go
    Pace otherwise;               // its pace if it does not move: now, or on the free GPUs
    double best = 0;              // rate of a waiting job at its best tier
  };
  struct Offer {
    DallyPlace place;
    double gain = 0;  // savings less costs, GPU-seconds
    std::vector<JobId> victims{};
  };

  // Jobs that look for a place.
  void collect_seekers(const View& view, Plan& plan);
  bool may_gain_by_preemption(const View& view, const OrderKey& key) const;
  Pace pace_of_what_is_free(const View& view, Plan& plan, JobId job);
  Pace free_pace(const View& view, Plan& plan, JobId job, const JobTiers& tiers);
  Pace present_pace(const View& view, const Plan& plan, JobId job);
  double present_rate(const View& view, const Plan& plan, JobId job) const;
  void collect_runners(const View& view, const Plan& plan);

  // Places for them.
  void improve(const View& view, Plan& plan, const Seeker& seeker);
  std::optional<Offer> best_offer(const View& view, Plan& plan, const Seeker& seeker);
  void look_for_better(const View& view, Plan& plan, const Seeker& seeker, Offer offer,
                       std::optional<Offer>& best);
  void carry_out(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer);

  // Gains of a place.
  double gpu_seconds(const View& view, JobId job, double slow, double fast) const;
  double most_saved(const View& view, const Seeker& seeker, const Offer& offer) const;
  double saved(const View& view, const Seeker& seeker, const Pace& there) const;
  double value_of_turn(const View& view, const Seeker& seeker) const;
  Pace pace_there(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer);
  static bool has_room(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer);
  double gain(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer);

  const DallyOptions& options_;
  const TierTable& tiers_;
  const DallyOrder& order_;
  DallyWaiting& waiting_;
  Crowding& crowding_;

  // State of the present round.
  std::vector<Seeker> seekers_;
  std::unordered_map<const JobTiers*, Pace> free_paces_;  // by kind of job
  DallyVictims victims_;
};

}  // namespace fairlead
