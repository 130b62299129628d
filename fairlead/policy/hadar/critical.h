// HadarCritical: puts jobs first that would else delay the end of all present work (ours).
//
// If short jobs go first, the longest jobs are left for the end, each on the GPUs of its gang, and
// the other GPUs idle. So a job that needs nearly all the time in which everything could be done
// goes before all others. This stops while jobs keep arriving: new jobs fill GPUs beside the long
// ones, and would wait for them if those went first.
//
// find: O(bidders log bidders) and a linear program of bidders x types. The others: O(news).
#pragma once

#include "fairlead/policy/hadar/arrivals.h"
#include "fairlead/policy/hadar/auction.h"
#include "fairlead/solve/time_shares.h"

#include <span>
#include <vector>

namespace fairlead {

class HadarCritical {
 public:
  // `fraction`: a job is critical if its time alone exceeds that part of the makespan lower bound;
  // 1: no job is.
  explicit HadarCritical(double fraction) : fraction_(fraction) {}

  // To be called in every decision.
  void hear(const View& view);
  // A bidder, and the weight that puts it first.
  struct Critical {
    HadarBidder* bidder = nullptr;
    double weight = 1;  // in multiples of the largest weight of all bidders
  };
  // Returns the critical jobs. Valid until the next call. REQUIRES: all jobs bid.
  std::span<const Critical> find(const View& view, const Plan& plan, JobKinds& kinds,
                                 std::span<HadarBidder> bidders);

  void fields(Archive& archive) { archive(arrivals_); }

 private:
  // A bidder, and its time alone as a part of the time for all jobs.
  struct Part {
    double alone = 0;
    HadarBidder* bidder = nullptr;
  };

  void collect(const View& view, const Plan& plan, JobKinds& kinds,
               std::span<const HadarBidder> bidders);
  double least_time_s() const;

  const double fraction_;
  HadarArrivals arrivals_;
  ShareProblem everything_;      // to do all present work soonest
  std::vector<double> alone_s_;  // by bidder: time left on its fastest type, with all its copies
  std::vector<Part> parts_;
  std::vector<Critical> critical_;
};

}  // namespace fairlead
