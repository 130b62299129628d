// The budget of a decision (policy/decision_budget.h) under every policy, in random worlds.

#include "fairlead/policy/registry.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fairlead {
namespace {

// Counts cuts, and finds the ones that suspend jobs although no job starts or grows.
struct CutSink : RecordSink {
  void on(const Record& record) override {
    if (record.t != instant) finish();
    instant = record.t;
    if (const auto* stop = std::get_if<record::Stop>(&record.what)) suspended.insert(stop->job);
    if (const auto* place = std::get_if<record::Place>(&record.what)) {
      const std::uint32_t before = std::exchange(gpus[place->job], gpus_of(place->gang));
      const bool has_moved = suspended.erase(place->job) > 0;
      any_gains |= !has_moved || gpus[place->job] > before || moves_gain;
    }
    const auto* note = std::get_if<Note>(&record.what);
    is_cut |= note != nullptr && std::holds_alternative<note::Cut>(*note);
  }
  void finish() {
    cuts += is_cut ? 1 : 0;
    if (is_cut && !suspended.empty() && !any_gains && problem.empty())
      problem = fmt::format("the cut at {} ms suspends a job for no other", instant.ms);
    suspended.clear();
    any_gains = is_cut = false;
  }

  bool moves_gain = false;  // in auctions a job also gains by a faster place
  Time instant;
  std::set<JobId> suspended;
  std::map<JobId, std::uint32_t> gpus;  // gang of the last run
  bool any_gains = false;
  bool is_cut = false;
  std::int64_t cuts = 0;
  std::string problem;
};

constexpr std::int64_t kBudgets[] = {1, 2, 5};

TEST(Budget, EveryJobEndsWithAnyBudget) {
  for (const std::int64_t budget : kBudgets) {
    const auto property = [budget](const World& world, const std::string& policy) -> std::string {
      const Outcome outcome = run(world, with_budget(policy, budget));
      if (!outcome.problems.empty()) return outcome.problems.front();
      const std::int64_t pending = outcome.counts.pending;
      if (pending == 0 || may_deadlock(policy)) return "";
      return fmt::format("{} jobs never finish", pending);
    };
    EXPECT_EQ(broken(fmt::format("Budget{}", budget), policy_variants(), {}, property), "")
        << budget;
  }
}

TEST(Budget, JobsSurviveNodesThatFail) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const Outcome outcome = run(world, with_budget(policy, 1));
    return outcome.problems.empty() ? "" : outcome.problems.front();
  };
  EXPECT_EQ(
      broken("BudgetWithFaults", policy_variants(), {.resources = true, .faults = true}, property),
      "");
}

TEST(Budget, ACutSuspendsNoJobUnlessAnotherGains) {
  std::map<std::string, std::int64_t> cuts;
  const auto property = [&](const World& world, const std::string& policy) {
    CutSink sink;
    sink.moves_gain = policy.starts_with("hadar") || policy.starts_with("fairlead");
    run(world, policy_named(with_budget(policy, 1), world.seed), {}, &sink);
    sink.finish();
    cuts[policy.substr(0, policy.find(':'))] += sink.cuts;
    return sink.problem;
  };
  EXPECT_EQ(broken("CutSuspends", policy_variants(), {}, property), "");
  // stride runs one job at a time, the first of all, so it has none to leave out.
  for (const auto& [policy, count] : cuts) {
    EXPECT_EQ(count > 0, policy != "stride") << policy << " ignores its budget";
  }
}

TEST(Budget, OneThatIsNeverUsedUpChangesNothing) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    const std::string hash = run(world, policy).hash;
    return run(world, with_budget(policy, 1'000'000)).hash == hash ? "" : "it makes a difference";
  };
  EXPECT_EQ(broken("BudgetSuffices", policy_variants(), {.resources = true}, property), "");
}

}  // namespace
}  // namespace fairlead
