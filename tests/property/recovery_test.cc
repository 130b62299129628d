// A run that is interrupted at any record goes on as if it had not been: under every policy, in
// random worlds.

#include "fairlead/engine/recovery.h"

#include "fairlead/base/rng.h"
#include "fairlead/engine/tables_difference.h"
#include "fairlead/journal/audit.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/registry.h"
#include "testing/grouped_world.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

Record as_it_is(Record record) { return record; }

// Returns the record of an older version, which kept no causes of policies' stops.
Record without_cause(Record record) {
  if (auto* stop = std::get_if<record::Stop>(&record.what)) stop->cause = StopCause::kPolicy;
  return record;
}

// The encoding of each record, without the snapshots, and its time.
struct Encoded : RecordSink {
  explicit Encoded(Record (*written_as)(Record)) : written(written_as) {}
  void on(const Record& record) override {
    if (std::holds_alternative<record::Snapshot>(record.what)) return;
    Writer writer;
    encode_record(writer, written(record), record.t);
    records.emplace_back(record.t.ms, writer.bytes());
  }
  Record (*written)(Record);
  std::vector<std::pair<std::int64_t, std::vector<std::uint8_t>>> records;
};

// A snapshot after one step in five.
BetweenSteps snapshots(Rng& rng) {
  return [&rng](Simulation& simulation) {
    if (!simulation.is_over() && rng.below(5) == 0) simulation.snapshot();
  };
}

// An interrupted run, stopped at a random record, leaves the same journal as a whole one.
std::string going_on_differs_from(const World& world, const std::string& policy,
                                  Record (*written)(Record)) {
  const MakePolicy make = policy_named(policy, world.seed);
  Rng rng(world.sim_seed);
  Encoded whole(written);
  RecordedRun all;
  struct Both : RecordSink {
    void on(const Record& record) override {
      encoded->on(record);
      run->on(record);
    }
    Encoded* encoded = nullptr;
    RecordedRun* run = nullptr;
  } both;
  both.encoded = &whole;
  both.run = &all;
  run(world, make, snapshots(rng), &both);

  const std::size_t cut = 1 + rng.below(all.records().size());
  RecordedRun before;
  for (std::size_t i = 0; i < cut; ++i) before.on(written(all.records()[i]));
  before.drop_last_instant();
  if (before.records().empty()) return "";

  Encoded resumed(written);
  Simulation simulation = simulation_of(world, make());
  simulation.add_sink(resumed);
  const Result<Recovery> recovery = simulation.resume(before);
  if (!recovery) return recovery.error().message;
  const bool has_snapshot = std::ranges::any_of(before.records(), [](const Record& record) {
    return std::holds_alternative<record::Snapshot>(record.what);
  });
  if ((recovery->policy == PolicyRecovery::kReplayed) != has_snapshot) return "no replay";
  if (!has_snapshot) return "";
  if (const Status status = simulation.run(); !status) return status.error().message;
  for (std::size_t i = 0; i < std::min(whole.records.size(), resumed.records.size()); ++i) {
    if (whole.records[i] == resumed.records[i]) continue;
    return fmt::format("interrupted at {} ms, it goes on otherwise at {} ms",
                       before.records().back().t.ms, whole.records[i].first);
  }
  return whole.records.size() == resumed.records.size() ? "" : "it ends otherwise";
}

std::string going_on_differs(const World& world, const std::string& policy) {
  return going_on_differs_from(world, policy, as_it_is);
}

TEST(Recovery, ARunInterruptedAtAnyRecordGoesOnAsTheUninterruptedOne) {
  EXPECT_EQ(broken("GoesOn", policy_variants(), {}, going_on_differs), "");
  EXPECT_EQ(broken("GoesOnWithFaults", policy_variants(), {.resources = true, .faults = true},
                   going_on_differs),
            "");
}

TEST(Recovery, TheSameFromAJournalWithoutCausesOfStops) {
  const auto property = [](const World& world, const std::string& policy) {
    return going_on_differs_from(world, policy, without_cause);
  };
  EXPECT_EQ(broken("GoesOnFromOld", policy_variants(), {}, property), "");
}

// Measured speeds follow from the records as well.
World measured(World world) {
  world.settings.profiles = {
      .source = SpeedSource::kMeasured, .length = seconds(2), .noise = 0.3, .age = seconds(40)};
  return world;
}

TEST(Recovery, TheSameOnMeasuredSpeeds) {
  const auto property = [](const World& world, const std::string& policy) {
    return going_on_differs(measured(world), policy);
  };
  EXPECT_EQ(broken("GoesOnMeasured", policy_variants(), {.faults = true}, property), "");
}

TEST(Recovery, TheSameWithGroupsAndQuotas) {
  const auto goes_on = [](const World& world, const std::string& policy) {
    return going_on_differs(in_groups(world), policy);
  };
  EXPECT_EQ(broken("GoesOnInGroups", grouping_policies(), {.faults = true}, goes_on), "");
}

World limited(World world) {
  world.settings.limit_rules = {{.limit = {"a user", 5, 2}, .per = LimitRule::Per::kUser},
                                {.limit = {"all", 9, 0}}};
  return world;
}

TEST(Recovery, TheSameWithLimits) {
  const auto goes_on = [](const World& world, const std::string& policy) {
    return going_on_differs(limited(world), policy);
  };
  EXPECT_EQ(broken("GoesOnLimited", policy_variants(), {.faults = true}, goes_on), "");
}

TEST(Recovery, TheSameWithABudgetOfDecisions) {
  const auto goes_on = [](const World& world, const std::string& policy) {
    return going_on_differs(world, with_budget(policy, 1));
  };
  EXPECT_EQ(broken("GoesOnWithBudget", policy_variants(), {.faults = true}, goes_on), "");
}

// The policy's state in the record of a snapshot.
struct LastSnapshot : RecordSink {
  void on(const Record& record) override {
    if (!std::holds_alternative<record::Snapshot>(record.what)) return;
    Writer writer;
    encode_record(writer, {{}, record.what}, {});
    bytes = writer.bytes();
  }
  std::vector<std::uint8_t> bytes;
};

// In a world that cannot be run again, the engine returns to its last state.
std::string coming_back_differs(World world, const std::string& policy) {
  world.settings.work.source = WorkSource::kDeclared;
  const MakePolicy make = policy_named(policy, world.seed);
  Rng rng(world.sim_seed);
  RecordedRun records;
  LastSnapshot last;
  Simulation first = simulation_of(world, make());
  first.add_sink(records);
  first.add_sink(last);
  const std::uint64_t steps = 1 + rng.below(200);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const Result<bool> goes_on = first.step();
    if (!goes_on || !*goes_on) return "";
    if (rng.below(10) == 0) first.snapshot();
  }
  RecordedRun before;
  for (const Record& record : records.records()) before.on(record);
  first.snapshot();

  LastSnapshot after;
  Simulation second = simulation_of(world, make());
  second.add_sink(after);
  const Result<Recovery> recovery = second.resume(before);
  if (!recovery) return recovery.error().message;
  if (std::string what = difference(first.tables(), second.tables()); !what.empty()) return what;
  if (recovery->policy == PolicyRecovery::kRestarted) return "";
  // A wake-up at which nothing was journalled is still pending.
  if (second.now() != first.now()) return "";
  second.snapshot();
  return last.bytes == after.bytes ? "" : "the policy remembers something else";
}

TEST(Recovery, InAnOpenWorldTheEngineComesBackToWhereItWas) {
  EXPECT_EQ(broken("ComesBack", policy_variants(), {.unreliable = true}, coming_back_differs), "");
}

TEST(Recovery, TheSameInAnOpenWorldOnMeasuredSpeeds) {
  const auto property = [](const World& world, const std::string& policy) {
    return coming_back_differs(measured(world), policy);
  };
  EXPECT_EQ(broken("ComesBackMeasured", policy_variants(), {.unreliable = true}, property), "");
}

TEST(Recovery, TheSameInAnOpenWorldWithGroupsAndQuotas) {
  const auto comes_back = [](const World& world, const std::string& policy) {
    return coming_back_differs(in_groups(world), policy);
  };
  EXPECT_EQ(broken("ComesBackInGroups", grouping_policies(), {.unreliable = true}, comes_back), "");
}

// Another policy takes over the jobs: none is lost.
std::string taking_over_loses(const World& world, const std::string& policy) {
  Rng rng(world.sim_seed);
  RecordedRun records;
  Simulation first = simulation_of(world, policy_named("fifo:skip=true")());
  first.add_sink(records);
  const std::uint64_t steps = 1 + rng.below(30);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const Result<bool> goes_on = first.step();
    if (!goes_on || !*goes_on) return "";
  }
  Audit audit;
  LastSnapshot last;
  Simulation second = simulation_of(world, policy_named(policy, world.seed)());
  second.add_sink(audit);
  second.add_sink(last);
  const Result<Recovery> recovery = second.resume(records);
  if (!recovery) return recovery.error().message;
  if (recovery->policy != PolicyRecovery::kRestarted || recovery->why.empty()) return "no word";
  second.snapshot();
  if (!last.bytes.empty()) return "a snapshot of a policy that does not know of its jobs yet";
  if (const Status status = second.run(); !status) return status.error().message;
  return audit.problems().empty() ? "" : audit.problems().front();
}

TEST(Recovery, AnotherPolicyTakesTheJobsOver) {
  EXPECT_EQ(broken("TakesOver", policy_variants(), {}, taking_over_loses), "");
}

}  // namespace
}  // namespace fairlead
