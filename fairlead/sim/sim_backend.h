// The simulated world: clock, arrivals, progress of running jobs, completions, costs and faults.
//
// Invariants:
//  1. Progress is exact: work left is settled only when a run begins or ends or, with contention,
//     its rate changes; by integer products.
//  2. Arrivals are a sorted array with a cursor, completions an indexed heap: O(log running) per
//     start, stop and finish; no allocation once warm.
//  3. A rate changes at the very moment at which a gang that shares links with the job's begins or
//     ends its run: at most once at that instant, by expect(), when all of them have come and gone.
//  4. Jobs that would exceed a limit are held, and released at the instant at which there is room; after a decision, a
//     millisecond later (sim/limit_holds.h).
//  5. It ends when nothing can change any more: no arrival left, no job running, and every node up.
#pragma once

#include "fairlead/base/indexed_heap.h"
#include "fairlead/engine/backend.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/rate_history.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/model/workload.h"
#include "fairlead/sim/costs.h"
#include "fairlead/sim/faults.h"
#include "fairlead/sim/limit_holds.h"
#include "fairlead/sim/network.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fairlead {

struct SimOptions {
  bool resources_ignored = false;  // CPU and memory do not limit placements
  Costs costs;
  FaultOptions faults;
  NetworkOptions network{};  // that of Speed
  std::uint64_t seed = 0;
};

class SimBackend : public Backend, public ExactWork {
 public:
  // Everything passed by reference must outlive the backend.
  SimBackend(const Cluster& cluster, const Workload& workload, const Speed& speed,
             SimOptions options);

  // Holds jobs back by limits from now on. REQUIRES: called before the first wait().
  void hold_by(std::unique_ptr<LimitHolds> holds);

  // REQUIRES, with contention: expect() came since events were returned.
  Batch wait(Time until, bool awaited) override;
  // A simulated world carries out steps in expect(), because both calls are at the same instant.
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time /*now*/, std::span<const Step> /*steps*/) override {}
  const TaskLimits* task_limits() const override { return limits_.empty() ? nullptr : &limits_; }
  const ExactWork* exact_work() const override { return this; }
  Duration remaining(JobId job) const override;
  // Estimates a place step under the assumption that it shares links with no other gang.
  void estimate(Step& step) const;
  // The jobs that have not arrived yet, by arrival, then input order.
  std::vector<JobSpec> unsubmitted() const;
  // Null without contention.
  const Network* network() const { return network_ ? &*network_ : nullptr; }

 private:
  // The current run of a running job.
  struct JobRun {
    RunId number = 0;
    GangRef gang;        // all copies; only where nodes may fail
    Time works_from;     // the end of its overhead
    Time progress_from;  // the same, or when its rate changed last
    Rate alone;          // its rate if it shared its links with no other gang
    Rate rate;
  };
  // The state of a job that saves only from time to time (JobExtras::checkpoint_every_s).
  struct Unsaved {
    Duration ran;  // training since its last checkpoint
    Work done;     // in that time
    Work lost;     // work to repeat before anything else
  };

  void begin_run(Time now, Step& step);
  void start(Step& step);
  void end_run(JobId job);
  void change_rates();
  void change_rate(JobId job, Rate rate);
  Time next_arrival() const;
  Time next_finish() const;
  bool only_nodes_change() const;
  void collect_events(Time now);
  void collect_finished();
  void collect_node_changes();
  bool keeps_gangs() const { return holds_ != nullptr || faults_.next() != Time::never(); }
  void collect_arrivals();
  void evict_from(NodeId node, std::uint64_t gpus);
  Work left_at(JobId job, Time now) const;
  Duration checkpoint_every(JobId job) const;
  Work lost_work(const Step& step) const;
  void note_unsaved(JobId job);
  JobSpec spec_of(JobId job) const;

  const Workload& workload_;
  const Speed& speed_;
  SimOptions options_;
  TaskLimits limits_;  // by CPU and memory
  Faults faults_;
  Time now_;
  std::vector<JobId> arrivals_;  // by time, then input order
  std::size_t next_arrival_ = 0;
  IndexedHeap<Time, JobId> completions_;
  IdVector<JobId, Work> left_;  // at progress_from, for a running job
  IdVector<JobId, JobRun> runs_;
  IdVector<JobId, Unsaved> unsaved_;  // ends with the last job that needs it
  std::optional<Network> network_;    // with contention
  RateHistory rates_;
  std::vector<SpeedChange> speed_changes_;
  GangPool gangs_;
  std::vector<Event> events_;
  std::vector<JobSpec> announced_;
  std::vector<JobId> victims_;
  std::unique_ptr<LimitHolds> holds_;  // with limits
};

}  // namespace fairlead
