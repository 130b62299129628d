// Simulation: what a policy would do to a cluster, as a library: no terminal, no exit, and no file
// but those that settings.models and settings.outages may name.
//
//   SimulationInputs inputs{.cluster = load_cluster("12xV100:4").value(),
//                           .trace = Trace::read("jobs.csv").value()};
//   FL_TRY(inputs.use_policy("tiresias"));            // or inputs.policy = std::make_unique<Mine>()
//   FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
//   FL_TRY(simulation.run());
//   const RunResult result = simulation.result();      // summary, jobs, timeline
//
// Equal inputs give equal records and results, to the byte. A simulation is used from one thread;
// several may run at once, each on a thread of its own, as they share nothing that changes.
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

class Metrics;      // metrics/metrics.h
struct RunFacts;    // metrics/metrics.h
struct Tables;      // engine/tables.h
class RecordedRun;  // engine/recovery.h
struct Recovery;

struct SimulationInputs {
  // load_cluster() of input/cluster_file.h, or build_cluster() of model/cluster_build.h.
  Cluster cluster;
  Trace trace;
  std::unique_ptr<Policy> policy{};
  std::string policy_options{};  // of the policy as text, for the journal and the summary
  Settings settings{};
  std::optional<SpeedTable> models{};  // speeds; none: those that settings.models names
  std::uint64_t seed = 0;              // of everything random
  Time until = Time::never();          // the clock stops there; what is unfinished is pending
  bool measured = true;                // false: sinks hear of it, but there is no result

  // Takes a policy by name: "NAME:opt=value,...", with `seed` as it is now. Error: no such policy or
  // option.
  Status use_policy(std::string_view text);
};

struct SimulationCounts {
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  std::int64_t steps = 0;
  // With network=contention: gangs that share links, and bandwidths computed anew.
  std::int64_t gangs_on_links = 0;
  std::int64_t link_updates = 0;
};

class Simulation {
 public:
  // Errors (Error::Kind::kInput): the settings ask for what there is not, such as a model table or a
  // load that no factor gives. settings.reading says how Trace::read reads, and nothing here.
  // REQUIRES: inputs.policy is not null; inputs.trace was not moved from.
  static Result<Simulation> make(SimulationInputs inputs);
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;
  ~Simulation();

  // Every record goes to each sink, in the order in which they were added: a JournalFile, an Audit,
  // Metrics of one's own. A sink must outlive the simulation. REQUIRES: before the first step.
  void add_sink(RecordSink& sink);

  // One instant: its events, one decision, its steps. False once the run is over: nothing can happen
  // any more, or not before `until`. Errors (Error::Kind::kRun), after which it is of no further
  // use: the policy broke a rule of Plan, or has brought the jobs to a standstill.
  Result<bool> step();
  // Steps until the run is over.
  Status run();
  bool is_over() const;
  Time now() const;
  SimulationCounts counts() const;
  // What the engine knows of the world. REQUIRES: !is_over(). Valid until the next step.
  const Tables& tables() const;

  // REQUIRES of these four: is_over(), and `measured`.
  RunFacts facts() const;  // without the journal's hash
  Summary summary() const;
  RunResult result() const;  // O(jobs) copies; for files, Metrics gives the same row by row
  const Metrics& metrics() const;

  // Leaves in the records all that the policy remembers, so that a run which is interrupted can be
  // gone on with. REQUIRES: !is_over(), and between two steps.
  void snapshot();
  // Goes on where an interrupted run of equal inputs stopped: its records go to the sinks, and the
  // next step is the one that did not come about. `run` ends with a whole instant. Where the policy
  // cannot take up what it remembered, it starts anew from the tables, and the result says why.
  // Error: its decisions are not those of the records; make another simulation, and let it resume
  // with `replays` false. REQUIRES: before the first step. (engine/recovery.h)
  Result<Recovery> resume(const RecordedRun& run, bool replays = true);

  // Goes on with another object of the same policy and options, which takes over what the one
  // before remembers (Policy::fields). Nothing changes by it, which is what tests use it for.
  // REQUIRES: !is_over().
  void reload_policy(std::unique_ptr<Policy> fresh);

 private:
  struct World;
  explicit Simulation(std::unique_ptr<World> world);

  std::unique_ptr<World> world_;
};

}  // namespace fairlead
