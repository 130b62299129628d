// Debts: how far each user is behind the share that its tickets buy, over time (the drift of drift
// plus penalty, Neely 2010; the counting is ours).
//
// A user is due its part of all GPUs by tickets (progressive filling, each capped at the demand of
// its jobs; groups, if there are any, share first). It is due them in the cluster's own mix of
// types, so the GPUs of its jobs count as GPUs of that mix. A GPU on which a job is twice as fast
// as on the mean GPU that it can use counts two.
//
//   idle time  GPU time that no user received causes no debt: the debts of all users with demand add
//              up to 0
//   bound      a debt is limited to ten times the largest debt of a world where all demand can be
//              served: the rest comes from unservable demand, and would keep others from their turns
//              for ever
//
// A user that pauses keeps its lead or lag: leaving clears no debt.
//
// Cost: settle O(users), expect O(users log users).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"
#include "fairlead/model/jobs.h"
#include "fairlead/solve/grouped_filling.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class Debts {
 public:
  // The sums of a user's jobs that wait or run.
  struct Ask {
    UserId user;
    double gpus = 0;       // GPUs asked for
    double allocated = 0;  // GPUs allocated, counted in GPUs of the mix
    double gang = 0;       // the largest gang asked for, in GPUs
  };

  // `window`: the time over which shares must be kept.
  Debts(Duration window, Duration round) : window_(window), round_(round) {}

  // Returns the time up to which the debts are settled.
  Time since() const { return since_; }
  // Gives the user back that many GPU-seconds of its time since then, if it is charged for them. All users give
  // them up at the next settle(), by their dues.
  void forgive(UserId user, double gpu_s) {
    if (debt_.has(user)) debt_[user] += gpu_s;
  }
  // Charges the user for that many GPU-seconds that it took outside of its jobs. A GPU counts as one of the mix. The other
  // users are owed them at the next settle(), by their dues.
  void charge(UserId user, double gpu_s) { debt_.grow_to(user) -= gpu_s; }
  // Updates the debts to the present time. Called in every decision before expect().
  void settle(Time now);
  // Sets the GPUs due and allocated from now on, for a cluster of `gpus`. Called last in every decision.
  void expect(const Users& users, double gpus, std::span<const Ask> asks);

  // Returns GPUs; 0 for users without demand. As of the last expect().
  double due(UserId user) const { return due_.has(user) ? due_[user] : 0; }
  // Returns the GPU-seconds of the mix that the user is behind; negative: ahead.
  double behind_s(UserId user) const { return debt_.has(user) ? debt_[user] : 0; }

  void fields(Archive& archive);

 private:
  void fill_dues(const Users& users, double gpus);
  void share_idle_time();
  void bound();

  const Duration window_;
  const Duration round_;
  Time since_{};
  // Per user, as of the last expect().
  IdVector<UserId, double> due_;
  IdVector<UserId, double> allocated_;
  IdVector<UserId, double> gang_;  // its largest demanded gang
  IdVector<UserId, double> debt_;  // up to since_

  // Workspace.
  GroupedFilling filling_;
  IdVector<UserId, double> demand_;
  std::vector<UserId> active_;
  std::vector<double> weights_, caps_, shares_, group_weights_, group_caps_;
  std::vector<std::uint32_t> groups_;
};

}  // namespace fairlead
