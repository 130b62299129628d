// Debts: how far each user is behind what its tickets buy, over time (the drift of drift plus penalty,
// Neely 2010; ours in what is counted).
//
// A user is due its part of all GPUs by tickets (progressive filling, each capped at what its jobs ask
// for; where there are groups, among those first). It is due them in the cluster's own mix of types, so
// what its jobs hold counts as GPUs of that mix: one on which a job is twice as fast as on the mean GPU
// that it can use counts two.
//
//   idle time  what no user received is no user's debt: the debts of all that want GPUs add up to 0
//   bound      ten times as much as a debt can be in a world where all can be served is kept: what is
//              beyond comes from what cannot be served, and would keep others from their turns for ever
//
// A user that pauses keeps what it is ahead or behind: leaving clears no debt.
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
    double gpus = 0;  // GPUs asked for
    double held = 0;  // GPUs held, counted in GPUs of the mix
    double gang = 0;  // the largest gang asked for, in GPUs
  };

  // `window`: over which shares are to hold.
  Debts(Duration window, Duration round) : window_(window), round_(round) {}

  // Brings debts up to now: to be called first in every decision.
  void settle(Time now);
  // Sets the GPUs due and held from now on, of so many GPUs. Called last in every decision.
  void expect(const Users& users, double gpus, std::span<const Ask> asks);

  // GPUs; 0 for users that want none. As of the last expect().
  double due(UserId user) const { return due_.has(user) ? due_[user] : 0; }
  // GPU-seconds of the mix that the user is behind; negative: ahead.
  double behind_s(UserId user) const { return debt_.has(user) ? debt_[user] : 0; }

  void fields(Archive& archive);

 private:
  void fill_dues(const Users& users, double gpus);
  void share_idle_time();
  void bound();

  const Duration window_;
  const Duration round_;
  Time since_{};
  // Of users, as of the last expect().
  IdVector<UserId, double> due_;
  IdVector<UserId, double> held_;
  IdVector<UserId, double> gang_;  // the largest that it asks for
  IdVector<UserId, double> debt_;  // up to since_

  // Workspace.
  GroupedFilling filling_;
  IdVector<UserId, double> demand_;
  std::vector<UserId> active_;
  std::vector<double> weights_, caps_, shares_, group_weights_, group_caps_;
  std::vector<std::uint32_t> groups_;
};

}  // namespace fairlead
