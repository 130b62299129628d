// Limits of users, QOS and accounts in whole runs.

#include "fairlead/engine/tables.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

SimulationInputs inputs_of(std::span<const JobRow> jobs, Costs costs = Costs::none()) {
  SimulationInputs inputs{.cluster = load_cluster("1xV100:4").value(),
                          .trace = Trace::of("test", jobs).value()};
  inputs.settings.costs = costs;
  return inputs;
}

// Three jobs of a user on a node of 4 GPUs, at most 2 of which it may have; b asks for more.
constexpr LimitRule::Per kPerUser = LimitRule::Per::kUser;
const JobRow kLimited[] = {{.id = "a", .gpus = 2, .duration = seconds(10), .qos = "normal"},
                           {.id = "b", .gpus = 4, .duration = seconds(10), .qos = "normal"},
                           {.id = "c", .gpus = 1, .duration = seconds(10), .qos = "normal"}};

using Texts = std::vector<std::pair<std::string, std::int64_t>>;

// Runs those jobs. Returns the end of each, in seconds, and the assumptions about limits.
std::pair<std::vector<double>, Texts> limited_run(std::string_view policy,
                                                  std::vector<LimitRule> rules) {
  SimulationInputs inputs = inputs_of(kLimited);
  inputs.settings.limit_rules = std::move(rules);
  EXPECT_TRUE(inputs.use_policy(policy).has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  Audit audit;
  simulation.add_sink(audit);
  EXPECT_TRUE(simulation.run().has_value());
  EXPECT_TRUE(audit.problems().empty());
  std::vector<double> ends;
  for (const JobResult& job : simulation.result().jobs)
    ends.push_back(static_cast<double>(job.finish.value_or(Time::never()).ms) / 1000);
  return {ends, simulation.summary().assumed.limits};
}

TEST(Limits, ALimitHoldsAJobUntilItFitsUnderEveryPolicy) {
  const std::vector<LimitRule> rules = {
      {.limit = {"most", 2, 0}, .qos = {"normal"}, .per = kPerUser}};
  const Texts assumed = {{"1 limit of 1 rule held jobs until they fitted", 2},
                         {"ask for more GPUs than a limit, which does not apply to them", 1}};
  for (const char* policy : {"fifo:skip=true", "las", "fairlead"}) {
    const auto [ends, texts] = limited_run(policy, rules);
    EXPECT_GE(ends[2], ends[0] + 10) << policy;
    EXPECT_EQ(texts, assumed) << policy;
  }
}

TEST(Limits, WithoutLimitsThoseOfTheQosAreNamedAsUnknown) {
  const auto [ends, texts] = limited_run("fifo:skip=true", {});
  EXPECT_EQ(ends[2], 10);
  EXPECT_EQ(texts,
            (Texts{{"limits of QOS, accounts and users are not known (--set limits=FILE)", 3}}));
}

TEST(Limits, RecordedStartsAreKeptWhateverTheLimits) {
  const auto [ends, texts] = limited_run("as-recorded", {{.limit = {"one", 0, 1}}});
  EXPECT_EQ(ends[2], 10);
  EXPECT_EQ(texts, (Texts{{"the recorded starts are kept, whatever the limits", 3}}));
}

TEST(Limits, AJobThatNeverRunsTakesNoRoomOfALimit) {
  const JobRow jobs[] = {{.id = "a", .gpus = 8, .duration = seconds(10)},
                         {.id = "b", .gpus = 4, .duration = seconds(10)}};
  SimulationInputs inputs = inputs_of(jobs);
  inputs.settings.limit_rules = {{.limit = {"all", 8, 1}}};
  ASSERT_TRUE(inputs.use_policy("fifo").has_value());
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  ASSERT_TRUE(simulation.run().has_value());
  EXPECT_EQ(simulation.now(), Time{10'000});
}

// The most GPUs that a user has at any time of a run to its end.
std::uint32_t most_of_a_user(SimulationInputs inputs) {
  Simulation simulation = Simulation::make(std::move(inputs)).value();
  Audit audit;
  simulation.add_sink(audit);
  std::uint32_t most = 0;
  while (simulation.step().value() && !simulation.is_over()) {
    const Jobs& jobs = simulation.tables().jobs;
    std::vector<std::uint32_t> used(simulation.tables().users.size(), 0);
    for (const JobId job : ids<JobId>(jobs.size()))
      if (jobs.has(job)) used[jobs.user[job].row()] += jobs.allocated_gpus[job];
    most = std::max(most, *std::ranges::max_element(used));
  }
  EXPECT_TRUE(audit.problems().empty());
  return most;
}

TEST(Limits, NoUserExceedsItsLimitUnderAnyPolicyWhileNodesFail) {
  std::deque<std::string> names;
  std::vector<JobRow> jobs;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t gpus = 1 + i % 3;
    jobs.push_back({.id = names.emplace_back(fmt::format("j{}", i)),
                    .user = i % 4 == 0 ? "bob" : "ann",
                    .gpus = gpus,
                    .gpus_min = 1,
                    .gpus_max = 4,
                    .submit = Time{} + seconds(7 * (i / 3)),
                    .duration = seconds(5 + i % 11)});
  }
  for (const PolicyEntry* policy : all_policies()) {
    if (policy->name == "as-recorded") continue;
    SimulationInputs inputs = inputs_of(jobs, Costs());
    inputs.cluster = load_cluster("4xV100:2").value();
    inputs.settings.faults.outages = {{NodeId(1), Time{20'000}, Time{60'000}}};
    inputs.settings.limit_rules = {{.limit = {"user", 3, 0}, .per = kPerUser}};
    ASSERT_TRUE(inputs.use_policy(policy->name).has_value());
    const std::uint32_t most = most_of_a_user(std::move(inputs));
    EXPECT_LE(most, 3U) << policy->name;
    EXPECT_GE(most, 2U) << policy->name;
  }
}

}  // namespace
}  // namespace fairlead
