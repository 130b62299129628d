// The jobs that wait under Dally: since when, and the places that each accepts by now.
//
// A job accepts its best tier at once, a rack after its node timer and the network after its rack
// timer (timers.h). If timers are tuned, no timer of a job is shorter than its
// loss at the wider tier. It accepts a place there only after waiting as long as the losses that
// the place causes to it and other jobs, with the present sharing of links. So it loses at most
// twice the minimum (ours; the rule for renting before one buys, Karlin et al., 1988).
//
// Invariant: each waiting job is in jobs() once, in OrderKey order.
//
// Cost: add, remove: O(1); the next call that goes over all jobs then sorts the added ones. The others O(1) per job.
#pragma once

#include "fairlead/policy/dally/order.h"
#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/kit/crowding.h"

#include <array>
#include <vector>

namespace fairlead {

class DallyWaiting {
 public:
  using Types = std::array<TypeMask, kDallyTiers>;  // by tier; 0 if the tier is refused

  // The arguments must outlive it.
  DallyWaiting(const DallyOptions& options, const TierTable& tiers)
      : options_(options), tiers_(tiers), timers_(options.timers) {}

  const std::vector<OrderKey>& jobs();
  bool empty() { return jobs().empty(); }

  // Adds a job that waits from now on. REQUIRES: it did not wait.
  void add(const View& view, const OrderKey& key);
  // Called when the job accepted a gang of that tier.
  void accepted(const View& view, JobId job, DallyTier tier);
  // Removes the job if it waited.
  void remove(JobId job);
  // Starts the jobs for which `start(job)` returns true, in order, and leaves the others.
  template <class Start>
  void start(const Start& start) {
    merge();
    std::erase_if(jobs_, [&](const OrderKey& key) {
      const bool has_started = start(key.job);
      states_[key.job].waits = !has_started;
      return has_started;
    });
  }

  // To be called before and after changes of a decision: updates the timers to now.
  void refresh(Time now);
  // Returns the types that its timers let it have by now.
  Types accepts(const View& view, JobId job) const;
  // Returns the time until which the job refuses a gang of a wider tier than its best. `rate`: its
  // speed there as a fraction of the tier's rate; `loss_of_others`: their loss by it. May be in the
  // past. Remembered within this decision, for notes and wake-ups.
  Time refuses_until(const View& view, JobId job, double rate, double loss_of_others);

  // Notes timers that started, ended or moved. Returns the end of the first timer of a waiting job.
  Time note(const View& view, Plan& plan);

  void fields(Archive& archive);

 private:
  // The time from which a job accepts a wider tier; never if it accepts all it can have.
  struct NextTier {
    DallyTier tier = DallyTier::kNetwork;
    Time at = Time::never();
  };
  struct State {
    OrderKey key;  // its last, in jobs() while it waits
    bool waits = false;
    Time since;                    // when it last had GPUs, or arrived
    NextTier noted{.at = {-1}};    // as last noted
    DallyTimers::Timers patience;  // the shortest timers justified by its losses
    Time refused_until{-1};        // within this decision: the earliest end of a refusal
    void fields(Archive& archive);
  };

  void merge();
  Duration worth_waiting(const View& view, JobId job, DallyTier tier) const;
  DallyTimers::Timers timers_of(const View& view, JobId job) const;
  NextTier next_tier(const View& view, JobId job) const;
  bool is_news(const View& view, const NextTier& noted, const NextTier& next) const;

  const DallyOptions& options_;
  const TierTable& tiers_;
  DallyTimers timers_;
  std::vector<OrderKey> jobs_;   // in order; may have jobs that were removed
  std::vector<OrderKey> added_;  // since the last merge
  bool has_removed_ = false;     // since the last merge
  IdVector<JobId, State> states_;
  std::array<DallyTimers::Timers, DallyTimers::kSizeClasses> now_{};
};

}  // namespace fairlead
