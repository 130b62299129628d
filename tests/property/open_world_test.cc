// An engine keeps its head in a world that is late, repeats itself, mixes things up and fails, with
// users who come and operators who interfere: under every policy, in random worlds.

#include "fairlead/base/rng.h"
#include "fairlead/engine/tables.h"
#include "testing/property.h"
#include "testing/tables_difference.h"
#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr Ingredients kOpen = {.unreliable = true};

// The jobs that are still here at the end: none, once the world is calm.
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
  if (counts.pending == 0 || may_refuse_gangs(policy)) return "";
  return fmt::format("{} jobs never finish", counts.pending);
}

TEST(OpenWorld, WhateverTheWorldDoesNoJobIsLostAndAllEndOnceItIsCalm) {
  EXPECT_EQ(broken("OpenWorld", policy_variants(), kOpen, jobs_lost), "");
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
    world.settings.profiles = {.source = SpeedSource::kMeasured,
                               .length = seconds(2),
                               .noise = 0.3,
                               .age = seconds(40)};
    return jobs_lost(world, policy);
  };
  EXPECT_EQ(broken("OpenWorldMeasured", policy_variants(), kOpen, property), "");
}

// Folds what it is told, as it comes back from its encoding.
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
