// HadarCritical: jobs without which all that is here would be done sooner (ours).
//
// Short jobs first leave the longest ones for the end, each on as many GPUs as its gang has, and the
// others idle. A job that needs nearly all the time in which everything could be done goes before all
// others, so that it does not last beyond that. Not while jobs keep arriving: what they bring fills
// GPUs beside the long ones, and has to wait for them if those go first.
//
// put_first: O(bidders log bidders) and a linear program of bidders x types. The others: O(news).
#pragma once

#include "fairlead/policy/hadar/arrivals.h"
#include "fairlead/policy/hadar/auction.h"

#include <vector>

namespace fairlead {

class HadarCritical {
 public:
  // `fraction`: a job is critical whose time alone exceeds that part of the makespan lower bound; 1:
  // none is.
  explicit HadarCritical(double fraction) : fraction_(fraction) {}

  // To be called in every decision.
  void hear(const View& view);
  // Gives critical ones more weight than all others. REQUIRES: all jobs bid.
  void put_first(const View& view, const Plan& plan, std::vector<HadarBidder>& bidders);

  void fields(Archive& archive) { archive(arrivals_); }

 private:
  // A bidder and the part that its time alone is of the time for all jobs.
  struct Part {
    double alone = 0;
    HadarBidder* bidder = nullptr;
  };

  const double fraction_;
  HadarArrivals arrivals_;
  std::vector<Part> parts_;
};

}  // namespace fairlead
