// A library that simulates a policy on a cluster. It never writes to the terminal, never exits, and reads only the
// files that settings.models and settings.outages name.
//
//   SimulationInputs inputs{.cluster = load_cluster("12xV100:4").value(),
//                           .trace = Trace::read("jobs.csv").value()};
//   FL_TRY(inputs.use_policy("tiresias"));            // or inputs.policy = std::make_unique<Mine>()
//   FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
//   FL_TRY(simulation.run());
//   const RunResult result = simulation.result();      // summary, jobs, timeline
//
// Equal inputs give equal records and results, to the byte. A simulation is used from one thread. Several simulations
// may run at once, each on its own thread: they share no mutable state.
//
// Time and memory: docs/performance.md; a million jobs take some seconds and 400 MB.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/journal/journal.h"
#include "fairlead/metrics/run_result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/policy/policy.h"
#include "fairlead/run/settings.h"
#include "fairlead/run/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

class Metrics;           // metrics/metrics.h
struct StatedResources;  // sim/cpu_limits.h
struct RunFacts;         // metrics/run_facts.h
struct Tables;           // engine/tables.h
class RecordedRun;       // engine/recovery.h
struct Recovery;

struct SimulationInputs {
  // load_cluster() of input/cluster_file.h, or build_cluster() of model/cluster_build.h.
  Cluster cluster;
  Trace trace;
  std::unique_ptr<Policy> policy{};
  std::string policy_options{};  // options of the policy as text, for the journal and the summary
  Settings settings{};
  std::optional<SpeedTable> models{};  // speeds; none: the table that settings.models names
  std::uint64_t seed = 0;              // seed of everything random
  Time until = Time::never();          // the clock stops here; unfinished jobs are pending
  bool measured = true;                // false: sinks get the records, but there is no result

  // Sets the policy from "NAME:opt=value,...", with the current `seed`. Error: no such policy or option.
  Status use_policy(std::string_view text);
};

struct SimulationCounts {
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  std::int64_t steps = 0;
  // With network=contention: the number of gangs that share links, and of bandwidth computations.
  std::int64_t gangs_on_links = 0;
  std::int64_t link_updates = 0;
};

class Simulation {
 public:
  // Creates a simulation. Errors (Error::Kind::kInput): the settings name something that does not exist, such as a
  // model table, or a load that no factor gives. settings.reading affects only Trace::read and has no effect here.
  // REQUIRES: inputs.policy is not null; inputs.trace was not moved from.
  static Result<Simulation> make(SimulationInputs inputs);
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;
  ~Simulation();

  // Adds a sink, such as a JournalFile, an Audit or other Metrics. Every record goes to each sink, in the order in
  // which the sinks were added. A sink must outlive the simulation. REQUIRES: before the first step.
  void add_sink(RecordSink& sink);

  // Simulates one instant: its events, one decision, its steps. Returns false after the end of the run: nothing can
  // happen any more, or not before `until`. Errors (Error::Kind::kRun): the policy broke a rule of Plan, or brought the
  // jobs to a standstill; the simulation is then unusable.
  Result<bool> step();
  // Steps until the end of the run.
  Status run();
  bool is_over() const;
  Time now() const;
  SimulationCounts counts() const;
  // Returns the engine's view of the world. REQUIRES: !is_over(). Valid until the next step.
  const Tables& tables() const;

  // Return the outcome. REQUIRES: is_over(), and `measured`.
  RunFacts facts() const;  // without the journal's hash
  // Returns the CPU and memory that limited placements, which are in no journal; empty if they did not.
  StatedResources resources() const;
  Summary summary() const;
  RunResult result() const;  // copies O(jobs); for files, Metrics has the same row by row
  const Metrics& metrics() const;

  // Writes the policy's whole state to the records, so that an interrupted run can be resumed.
  // REQUIRES: !is_over(), and between two steps.
  void snapshot();
  // Resumes an interrupted run of equal inputs: its records go to the sinks, and the next step is the first one that
  // `run` lacks. If the policy's state cannot be restored, the policy is restarted from the tables, and the result has
  // the reason. Error: the policy's decisions differ from the records; make another simulation and resume with
  // `replays` false. REQUIRES: before the first step; `run` ends with a whole instant. (engine/recovery.h)
  Result<Recovery> resume(const RecordedRun& run, bool replays = true);

  // Replaces the policy by another object of the same policy and options, which gets the old object's state
  // (Policy::fields). Decisions must not change; tests use this to check that. REQUIRES: !is_over().
  void reload_policy(std::unique_ptr<Policy> fresh);

 private:
  struct World;
  explicit Simulation(std::unique_ptr<World> world);

  std::unique_ptr<World> world_;
};

}  // namespace fairlead
