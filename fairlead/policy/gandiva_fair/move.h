// Moves of kept jobs to other homes (Gandiva_fair): the proposal, the function that carries it out,
// and the rest of a job after it.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/gandiva_fair/homes.h"

#include <functional>

namespace fairlead {

// No job: none.
struct Move {
  JobId job;
  Home to{};

  bool is_none() const { return job.is_none(); }
};

// Stops the job if it has GPUs, and moves it. On return the homes are as after the move.
using CarryOut = std::function<void(const Move&)>;

// Keeps a moved job in place for a while, because a move costs time, and a pinned job always. O(1); save
// O(jobs).
class CoolDown {
 public:
  explicit CoolDown(Duration rest) : rest_(rest) {}

  bool may_move(const View& view, JobId job) const {
    const bool is_rested =
        !moved_.has(job) || moved_[job] == kNever || view.now - moved_[job] >= rest_;
    return is_rested && !view.jobs.is_pinned(job);
  }
  void on_move(JobId job, Time now) {
    if (!moved_.has(job)) moved_.resize(job.row() + std::size_t{1}, kNever);
    moved_[job] = now;
  }
  // Forgets a job that has ended.
  void forget(JobId job) {
    if (moved_.has(job)) moved_[job] = kNever;
  }

  // REQUIRES if it reads: no function was called before.
  void fields(Archive& archive) {
    std::vector<JobId> moved;
    for (JobId job : ids<JobId>(moved_.size())) {
      if (moved_[job] != kNever) moved.push_back(job);
    }
    archive.ids(moved, [&](JobId job) {
      Time at = archive.reads() ? kNever : moved_[job];
      archive(at);
      on_move(job, at);
    });
  }

 private:
  static constexpr Time kNever{-1};

  const Duration rest_;
  IdVector<JobId, Time> moved_;  // time of its last move
};

}  // namespace fairlead
