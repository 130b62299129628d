// Matching: moves jobs between GPU types, so that every user keeps jobs where it is entitled to GPUs
// (Gandiva_fair; reconstructed).
//
// A job moves from a type where its user keeps more than it can use to a type where it keeps less.
// The move must add to its throughput. Then one job of each user may move to spare GPUs of another
// type, if it is faster there, or if its model was not tried there. That is how speeds are learnt.
//
// match: O(users x types^2 x 32 jobs), and finding a node for the jobs that gain.
#pragma once

#include "fairlead/policy/gandiva_fair/home_choice.h"
#include "fairlead/policy/gandiva_fair/move.h"

#include <cstdint>

namespace fairlead {

class Matching {
 public:
  // `gain`: GPUs that a move must gain per GPU that it moves. The others must outlive it.
  Matching(double gain, const Homes& homes, const Accounts& accounts, HomeChoice& choice,
           const CoolDown& cool_down)
      : gain_(gain), homes_(homes), accounts_(accounts), choice_(choice), cool_down_(cool_down) {}

  // Makes at most five moves of each user. REQUIRES: the accounts are up to date.
  void match(const View& view, const CarryOut& carry_out);

 private:
  // A move of the job to the type; no job: none.
  struct Candidate {
    JobId job;
    GpuTypeId to;
    double gain = 0;
  };

  Move best_match(const View& view, UserId user);
  void improve(const View& view, UserId user, GpuTypeId from, GpuTypeId to, Candidate& best);
  double gain_of(const View& view, JobId job, GpuTypeId to) const;
  double spare(UserId user) const;
  double usable(UserId user, GpuTypeId type, std::int64_t more) const;
  Move to_spare(const View& view, UserId user);
  Home find_spare(const View& view, JobId job);
  bool runs_always(JobId job) const;

  const double gain_;
  const Homes& homes_;
  const Accounts& accounts_;
  HomeChoice& choice_;
  const CoolDown& cool_down_;
};

}  // namespace fairlead
