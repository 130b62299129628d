// A small world in one object, for tests: a cluster, jobs, a policy, and the outcome of each job.
//
//   World world{.cluster = "2xV100:4"};
//   world.jobs = {{.submit = {0}, .gpus = 4, .work = seconds(10)}, ...};
//   const Outcome outcome = run(world, "srtf");
//   EXPECT_EQ(outcome.jobs[0].finish, Time{10'000});
//
// Every run is audited; Outcome::problems must be empty. Costs are 0 unless the test sets them.
#pragma once

#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct JobBound;  // metrics/run_facts.h

struct WorldJob {
  Time submit;
  std::uint32_t gpus = 1;
  std::uint32_t gpus_min = 0;  // 0: gpus
  std::uint32_t gpus_max = 0;
  std::uint32_t task_gpus = 1;
  std::uint32_t copies_max = 0;  // 0: any number
  std::uint32_t pinned = kMayMove;
  std::uint32_t checkpoint_every_s = 0;
  CpuMemory asks{};
  Duration work = seconds(1);
  std::string user = "ann";
  std::string model{};
  std::string require_level{};  // "host", "rack"; empty: none
  std::string prefer_level{};
  std::int64_t tickets = 0;  // tickets of the user; 0: not named
  std::string group{};       // group of the user; empty: not named
  std::int64_t group_tickets = 0;
  std::int64_t group_quota = 0;
  Duration time_limit{};  // the limit that its user asked for; 0: none
  std::int64_t priority = 0;
  std::string partition{};
  std::string qos{};
  Time logged_start = Time::never();  // the start under the scheduler of a log; never: unknown
};

struct World {
  std::string cluster = "2xV100:4";  // shorthand, preset or file; see also racks.h
  std::vector<CpuMemory>
      nodes_have{};  // CPU and memory of nodes in order, repeated; empty: they state none
  std::vector<WorldJob> jobs{};
  Settings settings{.costs = Costs::none()};
  std::uint64_t seed = 0;      // seed of the policy
  std::uint64_t sim_seed = 0;  // seed of faults
  Time until = Time::never();
};

struct JobOutcome {
  Time start = Time::never();  // start of its first run
  Time finish = Time::never();
  GpuTime allocated{};
  std::int64_t preemptions = 0;  // every stop
  std::int64_t migrations = 0;
  bool rejected = false;
  friend bool operator==(const JobOutcome&, const JobOutcome&) = default;
};

struct Outcome {
  std::string hash;  // hash of the journal, without the run's label
  std::vector<JobOutcome> jobs;
  JobCounts counts;
  SimulationCounts engine;
  // Found by the audit; last, the error that ended the run, if any.
  std::vector<std::string> problems;
};

using MakePolicy = std::function<std::unique_ptr<Policy>()>;

// Returns a maker of the policy that `text` ("tiresias:limits=60/600") names. REQUIRES: it is
// valid.
MakePolicy policy_named(std::string_view text, std::uint64_t seed = 0);

// Returns true if the named policy makes copies of jobs. REQUIRES: it is valid.
bool makes_copies(std::string_view text);

// Returns the options in it, defaults included. REQUIRES: it is valid.
PolicyOptions options_named(std::string_view text);

// The action of a test between two steps, for instance reload the policy.
using BetweenSteps = std::function<void(Simulation&)>;

// Returns the simulation of that policy in that world, without a result of its own.
Simulation simulation_of(const World& world, std::unique_ptr<Policy> policy);

Outcome run(const World& world, const MakePolicy& make, const BetweenSteps& between = {},
            RecordSink* also = nullptr);
Outcome run(const World& world, std::string_view policy);

// Returns the lower bounds of the world's jobs. `copies`: the policy makes copies of jobs.
IdVector<JobId, JobBound> bounds_of(const World& world, bool copies);

// Runs without any sink of the test except the journal's hash, and calls `on_step` after every step
// with the events so far. Returns the number of all events.
std::int64_t run_bare(const World& world, std::string_view policy,
                      const std::function<void(std::int64_t events)>& on_step);

// Returns a random small world: 1 to 6 nodes, 1 to 40 jobs, bursts and quiet times, gangs that fit
// and gangs that hardly do.
World random_world(std::uint64_t seed);

// Returns every policy of the registry, in the variants that differ in code: strict and skipping,
// all placements, queues with and without promotion, quanta.
std::vector<std::string> policy_variants();

// Returns true if jobs of the variant may wait for ever although they could be placed: pods that are
// bound one by one wait for each other; gavel with placement=yarn may choose a GPU type of which no rack has
// enough (docs/reliability.md).
bool may_deadlock(std::string_view variant);

}  // namespace fairlead
