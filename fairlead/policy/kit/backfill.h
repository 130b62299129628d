// Backfill: starts waiting jobs on free GPUs, the most urgent first. No job that was promised a
// time waits longer because of it.
//
//   Backfill backfill(limits, placement);
//   backfill.begin(view, plan, [&](JobId job) { return expected_end(view, job, otherwise); });
//   for (JobId job : by_urgency) backfill.start(view, plan, job, expected_length(view, job, otherwise));
//
// The first `reservations` jobs that cannot start now are promised a time and GPUs: the earliest
// time at which the jobs in their way will have ended. One promise is EASY backfilling (Lifka,
// JSSPP 1995). Promises for all are conservative backfilling (Mu'alem and Feitelson, IEEE TPDS
// 2001). Slurm sets the number with bf_job_part_count_reserve. Promises last for one pass; the next
// pass starts from the state at its time.
//
// GPUs are planned node by node, by the placement itself. GPUs of a running job count as free from
// its expected end, rounded up to the resolution. An overdue job is expected to end one resolution
// from now.
//
// begin: O(R log R) for R slices in use. start: O(R) to start now; O(R) placements and O(R^2) to
// find a time in the worst case. No allocation once warm.
#pragma once

#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace fairlead {

// Returns how long the job is expected to run: the time limit of its user, if the trace has one;
// else `otherwise`; else its known work at speed 1 (Needs::work). expected_end: when a running job
// will then end. O(1).
Duration expected_length(const View& view, JobId job, std::optional<Duration> otherwise);
Time expected_end(const View& view, JobId job, std::optional<Duration> otherwise);

class Backfill {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  struct Limits {
    std::int64_t reservations;  // number of jobs that are promised a time
    Duration window;            // longest time from now to a promise
    Duration resolution;        // at least 1 ms
  };
  Backfill(Limits limits, Placement placement) : limits_(limits), placement_(placement) {}

  // Begins a pass. end_of(job) returns the expected end of a running job.
  template <class EndOf>
  void begin(const View& view, const Plan& plan, const EndOf& end_of) {
    begin_pass(view, plan);
    for (JobId job : view.running) {
      if (plan.has_gang(job)) add_end(plan.gang(job), rounded(end_of(job)));
    }
    finish_ends();
  }

  // Places the job if it can start now; else promises it a time, if promises are left. Does nothing without a budget for
  // the search (Plan::examine_again): a pass without the promises of the one before would delay jobs. REQUIRES:
  // the job waits and has no GPUs in the plan, which only this object edited since begin().
  bool start(const View& view, Plan& plan, JobId job, Duration length);
  // Returns the time promised to the job of the last start(); never if there is none.
  Time promised() const { return promised_; }

 private:
  struct Change {  // GPUs of a node become free, or are needed
    Time t;
    NodeId node;
    std::int32_t gpus = 0;
  };

  void begin_pass(const View& view, const Plan& plan);
  Time rounded(Time t) const;
  void add_end(Gang gang, Time t);
  void finish_ends();
  void add_change(const Change& change);
  // `plan`: the plan of a gang that starts now, because CPU and memory then count; null: GPUs alone count.
  bool fits(const View& view, const Plan* plan, JobId job, std::size_t next, Time from,
            Duration length);
  void promise(const View& view, JobId job, Duration length, bool limited);
  void reserve(Time from, Duration length);

  const Limits limits_;
  const Placement placement_;

  // State of the present pass.
  Time now_;
  std::int64_t reservations_left_ = 0;
  Time promised_ = Time::never();
  std::optional<FreeIndex> now_free_;    // GPUs that no running or newly started job has
  std::vector<Change> changes_;          // by time; at equal times, GPUs that become free come
                                         // first
  std::optional<FreeIndex> then_;        // scratch: GPUs that are free at some time
  std::optional<FreeIndex> throughout_;  // scratch: GPUs that are free from then on for a while
  struct Balance {
    std::int32_t now = 0;
    std::int32_t least = 0;
  };
  IdVector<NodeId, Balance> balance_;  // scratch, all zero between calls
  std::vector<Slice> gang_;            // the result of fits()
};

}  // namespace fairlead
