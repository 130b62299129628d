// The jobs that wait under Dally: since when, and what each of them accepts by now.
//
// A job accepts its best tier at once, a rack after its node timer and the network after its rack
// timer (timers.h). If timers are tuned, no timer of a job is shorter than `patience` times what the
// wider tier would lose it, and it accepts a place there only once it has waited as long as it and
// those whom it slows down would lose by it, with the links as they are shared now: a job that waits
// so long loses at most twice what it must (ours; the rule for renting before one buys, Karlin et
// al., 1988).
//
// Invariant: waiting jobs stand once, in OrderKey order.
//
// Cost: add O(waiting), the others O(1) per job.
#pragma once

#include "fairlead/policy/dally/order.h"
#include "fairlead/policy/dally/places.h"
#include "fairlead/policy/kit/crowding.h"

#include <array>
#include <vector>

namespace fairlead {

class DallyWaiting {
 public:
  using Types = std::array<TypeMask, kDallyTiers>;  // by tier; 0 where it is refused

  // What is passed must outlive it.
  DallyWaiting(const DallyOptions& options, const TierTable& tiers)
      : options_(options), tiers_(tiers), timers_(options.timers) {}

  const std::vector<OrderKey>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }

  // It waits from now on. REQUIRES: it did not.
  void add(const View& view, const OrderKey& key);
  // It has accepted a gang of that tier.
  void accepted(const View& view, JobId job, DallyTier tier);
  // It waits no more, if it did.
  void remove(JobId job);
  // Starts those for whom `start(job)` is true, in order, and leaves the others.
  template <class Start>
  void start(const Start& start) {
    std::erase_if(jobs_, [&](const OrderKey& key) { return start(key.job); });
  }

  // To be called before and after changes of a decision: timers as of now.
  void refresh(Time now);
  // The types that its timers let it have by now.
  Types accepts(const View& view, JobId job) const;
  // Until when it refuses a gang of a wider tier than its best, at that speed (a fraction of the
  // rate of the tier), if others lose so much by it. It may be in the past. Remembered within this
  // decision, for notes and wake-ups.
  Time refuses_until(const View& view, JobId job, double rate, double loss_of_others);

  // Notes timers that began, ended or moved. Returns when the first of a waiting job ends.
  Time note(const View& view, Plan& plan);

  void fields(Archive& archive);

 private:
  // When a job begins to accept what is further apart; never if it accepts all it can have.
  struct NextTier {
    DallyTier tier = DallyTier::kNetwork;
    Time at = Time::never();
  };
  struct State {
    Time since;                    // when it last held GPUs, or came
    NextTier noted{.at = {-1}};    // as last noted
    DallyTimers::Timers patience;  // the least timers that its losses are worth
    Time refused_until{-1};        // within this decision: the first place that it refuses
    void fields(Archive& archive);
  };

  Duration worth_waiting(const View& view, JobId job, DallyTier tier) const;
  DallyTimers::Timers timers_of(const View& view, JobId job) const;
  NextTier next_tier(const View& view, JobId job) const;
  bool is_news(const View& view, const NextTier& noted, const NextTier& next) const;

  const DallyOptions& options_;
  const TierTable& tiers_;
  DallyTimers timers_;
  std::vector<OrderKey> jobs_;
  IdVector<JobId, State> states_;
  std::array<DallyTimers::Timers, DallyTimers::kSizeClasses> now_{};
};

}  // namespace fairlead
