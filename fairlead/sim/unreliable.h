// An unreliable world around an exact one. It notices late, and reports events twice and in the wrong order. It takes
// time to start and stop gangs, and may fail to. Nodes lose single GPUs, users arrive late, operators interfere.
// Everything follows from rates and a seed, so that a run can be repeated.
//
// The exact world (SimBackend) is the truth; this class stands between it and the engine. An event inside at t is
// reported at t plus its own delay, and steps are carried out after their own delays. A gang starts only once its GPUs
// are really free. The contract of a backend requires this.
//
// From `calm_from` on nothing is late or fails any more, failed nodes come up, and held jobs and cordoned nodes are
// released: every job can end.
//
// Its own lists are searched from end to end: for worlds of tests, not for the largest traces.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/engine/backend.h"
#include "fairlead/sim/sim_backend.h"
#include "fairlead/sim/unreliable_options.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace fairlead {

class UnreliableBackend : public Backend {
 public:
  // Everything passed by reference must outlive it.
  UnreliableBackend(SimBackend& inside, const Cluster& cluster, const Users& users,
                    const UnreliableOptions& options, std::uint64_t seed);

  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return true; }
  const TaskLimits* task_limits() const override { return inside_.task_limits(); }
  const ExactWork* exact_work() const override { return inside_.exact_work(); }

  // Returns jobs that have not arrived or whose arrival is still to be reported, some of them again: in any order, with
  // repeats, and with jobs that the engine knows.
  std::vector<JobSpec> unsubmitted() const;
  // Users known from the beginning.
  Users first_users() const { return options_.users_come > 0 ? Users() : users_; }
  // The really running gangs, whether the engine knows them or not: each gang's GPUs, by job and run.
  struct Running {
    JobId job;
    RunId run = 0;
    std::span<const Slice> slices;
    std::span<const std::uint64_t> gpu_masks;  // beside slices
  };
  std::vector<Running> running() const;

 private:
  // A pending report to the engine.
  struct Notice {
    Event event;
    JobSpec spec;  // spec of an arrival
  };
  // One run, from the step that starts it until its GPUs are free.
  struct JobRun {
    std::vector<Slice> slices;         // slices of all copies, one after another
    std::vector<std::uint64_t> masks;  // beside slices
    std::vector<Step> copies;          // the steps; their spans are into slices and masks
    bool is_inside = false;            // it runs in the exact world
    bool is_to_start = false;          // its start is due; it waits for its GPUs
    bool is_stopping = false;
  };
  // Something to be done inside.
  enum class Act : std::uint8_t { kStart, kStop, kFailGpus, kMendGpus, kOperate };
  struct Deed {
    Act act;
    JobId job;
    RunId run = 0;
    NodeId node;
    std::uint64_t gpus = 0;
  };
  // The rows of the last batch for the engine.
  struct Reported {
    std::vector<Event> events;
    std::vector<JobSpec> jobs;
    std::vector<GroupSpec> groups;
    std::vector<UserSpec> users;
  };
  // The last runs of a job with a received step: a step about these or earlier ones is a repetition.
  struct LastRuns {
    RunId started = 0;
    RunId stopped = 0;
  };
  template <class T>
  using Agenda = std::multimap<Time, T>;  // equal times in the order of insertion

  Duration drawn(Duration max);
  bool happens(double probability);
  bool is_calm(Time t) const { return t >= options_.calm_from; }
  void tell(Time at, const Event& event, const JobSpec& spec = {});
  void see(const Batch& batch);
  Time next_of_its_own() const;
  void act(const Deed& deed);
  void calm_down();
  void plan_start(const Step& step, Time at);
  void plan_stop(const Step& step, Time at);
  void try_starts();
  void start(JobId job, RunId number, JobRun& run);
  void stop(JobId job, RunId number);
  void end_inside(JobId job, RunId number);
  void tell_speeds(std::span<const SpeedChange> changes);
  JobRun* run_of(JobId job, RunId number);
  Time next_mend(NodeId node) const;
  void fail_gpus(NodeId node);
  void operate();
  bool are_free(JobId job, const JobRun& run) const;
  bool are_lost(const JobRun& run) const;
  Batch report(Time now);
  bool is_unfinished() const;

  SimBackend& inside_;
  const Cluster& cluster_;
  const Users& users_;
  const UnreliableOptions options_;
  Rng rng_;
  Time now_;      // the exact world's time
  Time present_;  // reported to the engine
  bool was_calmed_ = false;
  Agenda<Notice> notices_;
  Agenda<Deed> deeds_;
  std::map<std::pair<JobId, RunId>, JobRun> runs_;
  IdVector<JobId, LastRuns> last_runs_;
  std::set<JobId> done_;     // finished inside
  std::vector<JobId> jobs_;  // that have arrived
  std::size_t users_told_ = 0;
  std::size_t groups_told_ = 0;
  IdVector<NodeId, std::uint64_t> gpus_lost_;    // GPUs lost by this class
  IdVector<NodeId, std::uint64_t> down_inside_;  // by the exact world
  Reported reported_;
};

}  // namespace fairlead
