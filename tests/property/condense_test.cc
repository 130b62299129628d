// An engine that recovers from a condensed journal has the same state as the engine that wrote it.
// Its policy goes on with any later events: under every policy, in random worlds.

#include "fairlead/base/archive.h"
#include "fairlead/base/rng.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/journal/audit.h"
#include "testing/grouped_world.h"
#include "testing/property.h"
#include "testing/racks.h"
#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// A world in which jobs end and nodes go, all at once, while the scheduler is away.
class Upset : public Backend {
 public:
  void tell(const Tables& tables, Rng& rng) {
    now_ = tables.now + seconds(30);
    for (JobId job : ids<JobId>(tables.jobs.size())) {
      if (!tables.jobs.is_here(job) || rng.below(3) != 0) continue;
      const bool runs = tables.jobs.state[job] == JobState::kRunning;
      events_.push_back(
          {.kind = runs && rng.below(2) == 0 ? EventKind::kEvicted : EventKind::kCancelled,
           .job = job,
           .run = tables.jobs.run[job]});
    }
    std::ranges::sort(events_, {},
                      [](const Event& event) { return std::pair(event.kind, event.job); });
    const NodeId node(rng.below(tables.cluster.nodes()));
    if (rng.below(2) == 0) {
      events_.push_back({.kind = EventKind::kGpusDown, .node = node});
    }
  }
  Batch wait(Time until, bool) override {
    if (std::exchange(is_told_, true)) {
      // Afterwards all expected events come at their times.
      if (until == Time::never() || ++waits_ > 20) return {.now = now_, .ended = true};
      now_ = std::max(now_, until);
      return {.now = now_};
    }
    return {.now = now_, .present = now_, .events = events_};
  }
  std::span<const SpeedChange> expect(Time, std::span<Step>) override { return {}; }
  void carry_out(Time, std::span<const Step>) override {}
  bool reports_steps() const override { return true; }

 private:
  Time now_;
  std::vector<Event> events_;
  bool is_told_ = false;
  int waits_ = 0;
};

struct Nothing : RecordSink {
  void on(const Record&) override {}
};

// An engine in the state after those records.
struct Live {
  Live(const World& world, const std::string& variant, const RecordedRun& run)
      : policy(policy_named(variant, world.seed)()) {
    EngineOptions options{.profiles = {.source = SpeedSource::kMeasured}};
    options.work.source = WorkSource::kReported;
    engine = std::make_unique<Engine>(*cluster_of(world.cluster), nullptr, *policy, upset, nothing,
                                      options);
    const auto recovery = recover(*engine, run, "", *policy, upset, false);
    problem = recovery ? recovery->why : recovery.error().message;
    engine->replace_world(upset, nothing);
  }

  Upset upset;
  Nothing nothing;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Engine> engine;
  std::string problem;
};

std::string state_of(Policy& policy) {
  Writer writer;
  save(policy, writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::string jobs_differ(const Engine& a, const Engine& b) {
  const Jobs& one = a.tables().jobs;
  const Jobs& two = b.tables().jobs;
  for (JobId job : ids<JobId>(one.size())) {
    if (!one.is_here(job)) continue;
    if (one.state[job] != two.state[job]) return "the state of a job";
    if (one.run[job] != two.run[job]) return "the run of a job";
    if (one.attained(job, a.now()) != two.attained(job, b.now())) return "what a job was served";
    const bool runs = one.state[job] == JobState::kRunning;
    if (runs && !std::ranges::equal(one.gangs.gpu_masks(one.last[job]),
                                    two.gangs.gpu_masks(two.last[job]))) {
      return "GPUs";
    }
  }
  const Users& users = a.tables().users;
  const Users& others = b.tables().users;
  if (users.group != others.group || users.groups.quota != others.groups.quota) return "groups";
  return a.tables().waiting.members().size() == b.tables().waiting.members().size() ? "" : "jobs";
}

std::string differs(const World& world, const std::string& variant) {
  const MakePolicy make = policy_named(variant, world.seed);
  if (make()->needs().work.least == WorkSource::kExact) return "";
  Rng rng(world.sim_seed);
  RecordedRun all;
  Simulation simulation = simulation_of(world, make());
  simulation.add_sink(all);
  for (std::uint64_t left = 1 + rng.below(100); left > 0; --left) {
    const Result<bool> goes_on = simulation.step();
    if (!goes_on || !*goes_on) return "";
  }
  simulation.snapshot();
  const Live live(world, variant, all);
  if (!live.problem.empty()) return live.problem;

  RecordedRun condensed;
  Audit audit;
  Tee both({&condensed, &audit});

  if (!live.engine->condense({}, both)) return "nothing is written";
  if (!audit.problems().empty()) return audit.problems().front();
  Live again(world, variant, condensed);
  if (!again.problem.empty()) return again.problem;
  if (std::string what = jobs_differ(*live.engine, *again.engine); !what.empty()) return what;
  if (state_of(*live.policy) != state_of(*again.policy)) return "the policy remembers otherwise";

  again.upset.tell(again.engine->tables(), rng);
  for (;;) {
    const Result<bool> goes_on = again.engine->step();
    if (!goes_on) return goes_on.error().message;
    if (!*goes_on) return "";
  }
}

TEST(Condense, AnEngineStandsWhereTheOneDidThatWroteTheJournal) {
  EXPECT_EQ(broken("Condense", policy_variants(), {}, differs), "");
  EXPECT_EQ(broken("CondenseWithFaults", policy_variants(), {.faults = true}, differs), "");
}

TEST(Condense, KeepsGroupsAndQuotas) {
  const auto property = [](const World& world, const std::string& policy) {
    return differs(in_groups(world), policy);
  };
  EXPECT_EQ(broken("CondenseInGroups", grouping_policies(), {.faults = true}, property), "");
}

}  // namespace
}  // namespace fairlead
