// An engine stays consistent in a world that is late, repeats itself, mixes things up and fails.
// Users and operators interfere: under every policy, in random worlds.

#include "fairlead/base/rng.h"
#include "fairlead/engine/tables.h"
#include "fairlead/engine/tables_difference.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace fairlead {
namespace {

constexpr Ingredients kOpen = {.unreliable = true};

// Returns the jobs that are still present at the end: none, once the world is calm.
std::string jobs_lost(const World& world, const std::string& policy) {
  const Outcome outcome = run(world, policy);
  if (!outcome.problems.empty()) return outcome.problems.front();
  const JobCounts& counts = outcome.counts;
  if (counts.finished + counts.failed + counts.rejected + counts.pending !=
      std::ssize(world.jobs)) {
    return fmt::format("of {} jobs {} finished, {} failed, {} were rejected, {} are pending",
                       world.jobs.size(), counts.finished, counts.failed, counts.rejected,
                       counts.pending);
  }
  if (counts.pending == 0 || may_deadlock(policy)) return "";
  return fmt::format("{} jobs never finish", counts.pending);
}

TEST(OpenWorld, WhateverTheWorldDoesNoJobIsLostAndAllEndOnceItIsCalm) {
  constexpr Ingredients kLimited = {.resources = true, .unreliable = true};
  EXPECT_EQ(broken("OpenWorld", policy_variants(), kLimited, jobs_lost), "");
}

TEST(OpenWorld, TheSameWherePoliciesKnowLittleOfWork) {
  const auto property = [](World world, const std::string& policy) {
    world.settings.work.source = WorkSource::kHistory;
    return jobs_lost(world, policy);
  };
  EXPECT_EQ(broken("OpenWorldHistory", policy_variants(), kOpen, property), "");
}

TEST(OpenWorld, SavingAndLoadingAtRandomMomentsChangesNothing) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const MakePolicy make = policy_named(policy, world.seed);
    Rng rng(world.sim_seed);
    const Outcome reloaded = run(world, make, [&](Simulation& simulation) {
      if (rng.below(3) == 0) simulation.reload_policy(make());
    });
    return run(world, policy).hash == reloaded.hash ? "" : "saving and loading changes something";
  };
  EXPECT_EQ(broken("SaveOpenWorld", policy_variants(), kOpen, property), "");
}

TEST(OpenWorld, TheSameWherePoliciesKnowOnlyMeasuredSpeeds) {
  const auto property = [](World world, const std::string& policy) {
    world.settings.profiles = {
        .source = SpeedSource::kMeasured, .length = seconds(2), .noise = 0.3, .age = seconds(40)};
    return jobs_lost(world, policy);
  };
  EXPECT_EQ(broken("OpenWorldMeasured", policy_variants(), kOpen, property), "");
}

// Returns the GPU time that the jobs of each user have had when the clock stops.
std::map<std::string, GpuTime> service_of_users(const World& world, const std::string& policy) {
  Simulation simulation = simulation_of(world, policy_named(policy, world.seed)());
  std::map<std::string, GpuTime> service;
  for (;;) {
    service.clear();
    const Tables& tables = simulation.tables();
    for (JobId job : ids<JobId>(tables.jobs.size())) {
      if (!tables.jobs.has(job)) continue;
      service[tables.users.names[tables.jobs.user[job]]] += tables.jobs.attained(job, world.until);
    }
    const Result<bool> goes_on = simulation.step();
    FL_CHECK(goes_on.has_value(), "{}", goes_on.error().message);
    if (!*goes_on) return service;
  }
}

// Endless jobs of three users on one type of GPU: more than fit.
World contended_world(std::uint64_t seed) {
  Rng rng(seed);
  World world{.cluster = fmt::format("{}xV100:4", 1 + rng.below(3)), .until = {3 * 3'600'000}};
  world.sim_seed = seed;
  const std::uint64_t jobs = 4 + rng.below(8);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    world.jobs.push_back({.submit = {static_cast<std::int64_t>(30'000 * i)},
                          .gpus = std::uint32_t{1} << rng.below(3),
                          .work = seconds(1'000'000),
                          .user = fmt::format("u{}", i % 3),
                          .tickets = static_cast<std::int64_t>(1 + i % 3)});
  }
  return world;
}

// If only notices and timers are late, and jobs come in the same order.
TEST(OpenWorld, UnderStrideLatenessCostsAUserAtMostAQuantumOfItsLargestGang) {
  constexpr std::string_view kPolicy = "stride:quantum_s=60";
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    World world = contended_world(seed);
    const auto exact = service_of_users(world, std::string(kPolicy));
    world.settings.unreliable.late_max = seconds(5);
    const auto late = service_of_users(world, std::string(kPolicy));
    for (const auto& [user, service] : exact) {
      std::uint32_t largest = 0;
      for (const WorldJob& job : world.jobs) {
        if (job.user == user) largest = std::max(largest, job.gpus);
      }
      const auto lag = static_cast<double>((late.at(user) - service).gpu_ms);
      EXPECT_LE(std::abs(lag), 60'000.0 * largest) << seed << " " << user;
    }
  }
}

// Folds the records it receives, after encoding and decoding them.
class Folded : public RecordSink {
 public:
  void on(const Record& record) override {
    encode_record(bytes_, record, last_);
    last_ = record.t;
  }
  const Tables& tables() {
    struct Into : RecordSink {
      explicit Into(Tables& into) : tables(into) {}
      void on(const Record& record) override { tables.apply(record); }
      Tables& tables;
    } into(tables_);
    FL_CHECK(decoder_.decode(Reader(bytes_.bytes()), into).has_value());
    bytes_.clear();
    return tables_;
  }

 private:
  Writer bytes_;
  Time last_;
  RecordDecoder decoder_;
  Tables tables_{Cluster()};
};

TEST(OpenWorld, AtEveryStepTheTablesAreTheFoldOfTheJournal) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    Folded folded;
    std::string different;
    const auto compare = [&](Simulation& simulation) {
      if (different.empty()) different = difference(folded.tables(), simulation.tables());
    };
    run(world, policy_named(policy, world.seed), compare, &folded);
    return different.empty() ? "" : "not what the records say: " + different;
  };
  EXPECT_EQ(broken("FoldOpenWorld", policy_variants(), kOpen, property), "");
  EXPECT_EQ(broken("FoldExact", policy_variants(), {.faults = true}, property), "");
}

}  // namespace
}  // namespace fairlead
