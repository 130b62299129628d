// Backfill: waiting jobs, the most urgent first, on the GPUs that are free now, as far as no job that
// was promised a time has to wait longer for it.
//
//   Backfill backfill(limits, placement);
//   backfill.begin(view, plan, [&](JobId job) { return expected_end(view, job, otherwise); });
//   for (JobId job : by_urgency) backfill.start(view, plan, job, expected_length(view, job, otherwise));
//
// The first `reservations` jobs that cannot start now are promised the earliest time at which all
// will have ended that stands in their way, and the GPUs there. One such job is EASY backfilling
// (Lifka, JSSPP 1995), all of them is conservative backfilling (Mu'alem and Feitelson, IEEE TPDS
// 2001; Slurm's bf_job_part_count_reserve says how many). Promises hold within a pass: the next one
// begins from what is true then.
//
// GPUs are planned node by node, by the placement itself. What jobs hold counts as free from their
// expected end on, as rounded up to the resolution; a job that is overdue is expected to end by the
// resolution from now.
//
// begin: O(R log R) for R slices that are held. start: O(R) to start now; O(R) placements and O(R^2)
// to find a time in the worst case. No allocation once warm.
#pragma once

#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace fairlead {

// How long the job is expected to hold a gang: the time limit that its user asked for, if the trace
// says one; else `otherwise`; else the work that is known of it, at speed 1 (Needs::work). And when
// it is then expected to end, of a job that runs. O(1).
Duration expected_length(const View& view, JobId job, std::optional<Duration> otherwise);
Time expected_end(const View& view, JobId job, std::optional<Duration> otherwise);

class Backfill {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  struct Limits {
    std::int64_t reservations;  // jobs that are promised a time; 0: none
    Duration window;            // no job is promised a time that is further away
    Duration resolution;        // at least 1 ms
  };
  Backfill(Limits limits, Placement placement) : limits_(limits), placement_(placement) {}

  // Begins a pass. end_of(job) is when a job that runs is expected to end.
  template <class EndOf>
  void begin(const View& view, const Plan& plan, const EndOf& end_of) {
    begin_pass(view, plan);
    for (JobId job : view.running) {
      if (plan.holds(job)) add_end(plan.gang(job), rounded(end_of(job)));
    }
    finish_ends();
  }

  // Places the job, if it can start now; else promises it a time, if it may have one.
  // REQUIRES: the job waits and holds nothing in the plan, which was edited since begin() by this
  // object alone.
  bool start(const View& view, Plan& plan, JobId job, Duration length);
  // What the job that start() was called for last was promised; never: nothing.
  Time promised() const { return promised_; }

 private:
  struct Change {  // GPUs of a node come free, or are needed
    Time t;
    NodeId node;
    std::int32_t gpus = 0;
  };

  void begin_pass(const View& view, const Plan& plan);
  Time rounded(Time t) const;
  void add_end(Gang gang, Time t);
  void finish_ends();
  void add_change(const Change& change);
  bool fits(const View& view, JobId job, std::size_t next, Time from, Duration length);
  void promise(const View& view, JobId job, Duration length);
  void reserve(Time from, Duration length);

  const Limits limits_;
  const Placement placement_;

  // Of the pass under way.
  Time now_;
  std::int64_t reservations_left_ = 0;
  Time promised_ = Time::never();
  std::optional<FreeIndex> now_free_;    // what no job holds that runs or was started
  std::vector<Change> changes_;          // by time; of equal times, GPUs that come free first
  std::optional<FreeIndex> then_;        // scratch: what is free at some time
  std::optional<FreeIndex> throughout_;  // scratch: what is free from then on for a while
  struct Balance {
    std::int32_t now = 0;
    std::int32_t least = 0;
  };
  IdVector<NodeId, Balance> balance_;  // scratch, all zero between calls
  std::vector<Slice> gang_;            // what fits() found
};

}  // namespace fairlead
