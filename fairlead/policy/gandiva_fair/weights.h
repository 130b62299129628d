// Weights: the value of giving a job its GPUs in the coming quantum (Gandiva_fair; ours).
//
//   weight = gang x urgency^3
//   urgency = 5 + lag - (ahead + gang / 2) / due, in turns, and a little at least
//
// A turn is a quantum of the due of the job's user: in the ledger, its due of all types. In this
// quantum it is `due`, its GPUs of the job's type, so that a user who bought GPUs of a type has
// them.
//   lag    the turns that the user is behind in the whole cluster, by the ledger and the GPUs of
//          the type given to it so far in this quantum. Up to one turn is added for its debt on
//          this type. That is enough to give users their parts of each type, and too little to
//          delay their dues in sum.
//   ahead  the GPUs of the user's jobs on the same node that come before this job. With it, urgency
//          counts the user's debt at the middle of the job's turn.
//
// Choosing the jobs of the greatest weight that fit serves every set of debts that can be served
// (Tassiulas and Ephremides 1992, with queues in the place of debts). The constant is the price of
// idle GPUs (drift plus penalty, Neely 2010): the greater it is, the fuller the nodes are.
//
// Three more rules:
//   patience    a job that waited for more than twenty of its own turns, gang / tickets quanta
//               each, gains one turn for each, however far ahead its user is. Without this rule, a
//               user's jobs on other nodes could keep it from its turn for ever.
//   has all     a user with a due of its whole demand gains half a turn: it can never make up for a
//               loss.
//   newcomer    the first job of a user without GPUs, unless it is ahead, gains ten turns: a
//               newcomer waits for the present quantum, and mostly no longer.
//
// begin: O(users x types). All else O(1).
#pragma once

#include "fairlead/policy/gandiva_fair/accounts.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"
#include "fairlead/policy/gandiva_fair/homes.h"

namespace fairlead {

class Weights {
 public:
  // The others must outlive it.
  Weights(Duration quantum, const Homes& homes, const Accounts& accounts)
      : quantum_(quantum), homes_(homes), accounts_(accounts) {}

  // Starts a quantum. REQUIRES: the accounts are up to date.
  void begin();
  // In turns. `ahead`: GPUs. REQUIRES, also for the functions below: begin() was called.
  double urgency(const View& view, const StrideClient& client, double ahead = 0) const;
  double weight(const View& view, const StrideClient& client, double ahead = 0) const;
  // Returns the turns that the user is behind, including its GPUs of the type in this quantum.
  double lag(UserId user, GpuTypeId type) const { return standings_(user, type).lag; }
  // Counts the job's GPUs in this quantum. It counts at once, so that the next node uses it.
  void count_turn(const View& view, const StrideClient& client);

 private:
  // The position of a user with GPUs of one type.
  struct Standing {
    double lag = 0;        // turns
    double due = 0;        // GPUs; above 0
    bool has_all = false;  // it is due all of its demand, of all types
  };

  double impatience(const StrideClient& client) const;

  const Duration quantum_;
  const Homes& homes_;
  const Accounts& accounts_;
  ByUserAndType<Standing> standings_;
};

}  // namespace fairlead
