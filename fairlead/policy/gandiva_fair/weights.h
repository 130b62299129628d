// Weights: what it is worth that a job holds its GPUs in the coming quantum (Gandiva_fair; ours).
//
//   weight = gang x urgency^3
//   urgency = 5 + lag - (ahead + gang / 2) / due, in turns, and a little at least
//
// A turn is a quantum of what the job's user is due: of all types in the ledger, and of the job's type,
// `due` GPUs, in this quantum, so that who bought GPUs of a type has those. `lag`: how many turns the
// user is behind in the whole cluster, by the ledger and what was given to it of the type in this
// quantum so far, and up to one for what it is behind on this type: that is enough for users to have
// their parts of each type, and too little to hold up what they are due in sum. `ahead`: GPUs of the
// user's jobs on the same node that come before this one. So the middle of the job's turn stands where
// its user's debt will be then.
//
// Choosing the jobs of the greatest weight that fit serves every set of debts that can be served at
// all (Tassiulas and Ephremides 1992, where queues stand for debts); the constant is the price of
// GPUs that stand idle (drift plus penalty, Neely 2010): the greater, the rather a node is filled.
//
// Three rules beside it:
//   patience    a job that waited for more than twenty of its own turns, gang / tickets quanta each, is
//               one more turn ahead for each, however far ahead its user is: or a user's jobs on other
//               nodes could keep it from its turn for ever
//   has all     a user who is due all that it asks for stands half a turn ahead: what it loses it can
//               never make up for
//   newcomer    the first job of a user who holds nothing and is not ahead stands ten turns ahead: who
//               comes waits for the quantum under way, and mostly no longer
//
// begin: O(users x types). All else O(1).
#pragma once

#include "fairlead/policy/gandiva_fair/accounts.h"
#include "fairlead/policy/gandiva_fair/homes.h"

#include <vector>

namespace fairlead {

class Weights {
 public:
  // The others must outlive it.
  Weights(Duration quantum, const Homes& homes, const Accounts& accounts)
      : quantum_(quantum), homes_(homes), accounts_(accounts) {}

  // A quantum begins. REQUIRES: the accounts are up to date.
  void begin();
  // In turns. `ahead`: GPUs. REQUIRES of all below: begin() was called.
  double urgency(const View& view, const StrideClient& client, double ahead = 0) const;
  double weight(const View& view, const StrideClient& client, double ahead = 0) const;
  // Turns that the user is behind, with what it was given of the type.
  double lag(UserId user, GpuTypeId type) const { return standings_[row(user, type)].lag; }
  // The job gets its GPUs in this quantum. It counts at once, so that the next node knows.
  void count_turn(const View& view, const StrideClient& client);

 private:
  // How a user stands with GPUs of one type.
  struct Standing {
    double lag = 0;        // turns
    double due = 0;        // GPUs; above 0
    bool has_all = false;  // that it asks for, of all types
  };

  std::size_t row(UserId user, GpuTypeId type) const {
    return user.row() * homes_.types() + type.row();
  }
  double impatience(const StrideClient& client) const;

  const Duration quantum_;
  const Homes& homes_;
  const Accounts& accounts_;
  std::vector<Standing> standings_;  // of users, type by type
};

}  // namespace fairlead
