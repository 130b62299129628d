// Starving: since when users are without GPUs although they are due some, and the job of each that goes first once
// they have waited long enough (ours).
//
// Such a job keeps its GPUs for a turn, however much others would gain by them. It has at most the GPUs that its user
// is due, so the jobs that go first fit into the cluster together.
//
// Cost: begin and end O(users), goes_first O(1).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/policy.h"

#include <functional>
#include <optional>

namespace fairlead {

class Starving {
 public:
  // `patience`: how long a user waits; none: forever. `turn`: how long its job then goes first.
  Starving(std::optional<Duration> patience, Duration turn) : patience_(patience), turn_(turn) {}

  // Starts a decision. Returns true if a user has now waited long enough, once for each wait.
  bool begin(const View& view);
  // Returns whether the job goes first; of a user's waiting jobs the first one asked about that is not larger than
  // `due`. REQUIRES: begin() in this decision; the job is the user's and bids for that many GPUs.
  bool goes_first(const View& view, UserId user, JobId job, double gpus, double due);
  // Ends a decision: `starves` returns whether a user that asks for GPUs starves. Asks for a call when a user has
  // waited long enough.
  void end(const View& view, Plan& plan, std::size_t users,
           const std::function<bool(UserId)>& starves);

  void fields(Archive& archive) { archive(users_); }

 private:
  struct Wait {
    Time since{-1};         // since when the user starves; below 0: it does not
    bool is_heard = false;  // begin() has returned true for this wait
    JobId first;            // the job that goes first; in a decision perhaps one that waits

    void fields(Archive& archive) { archive(since, is_heard, first); }
  };

  bool is_over(const View& view, const Wait& wait) const {
    return wait.since.ms >= 0 && view.now - wait.since >= *patience_;
  }

  const std::optional<Duration> patience_;
  const Duration turn_;
  IdVector<UserId, Wait> users_;
};

}  // namespace fairlead
