#include "testing/property.h"

#include "testing/case_file.h"
#include "testing/racks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace fairlead {
namespace {

const Ingredients kAll = {.faults = true};

TEST(Property, IsTriedOnEveryVariantAsOftenAsItSays) {
  std::map<std::string, int> runs;
  const std::string wrong = broken("Nothing", policy_variants(), kAll,
                                   [&](const World&, const std::string& variant) -> std::string {
                                     ++runs[variant];
                                     return "";
                                   });
  EXPECT_EQ(wrong, "");
  std::vector<std::string> variants = policy_variants();
  std::ranges::sort(variants);
  ASSERT_EQ(runs.size(), variants.size()) << "a variant is there twice";
  for (const std::string& variant : variants) EXPECT_EQ(runs[variant], runs["fifo"]) << variant;
  EXPECT_GE(runs["fifo"], 1);
}

// Worlds that differ by property, by variant and by their number.
TEST(Property, IsTriedInAnotherWorldEachTime) {
  std::set<std::string> worlds;
  std::size_t runs = 0;
  for (const char* name : {"One", "Another"}) {
    broken(name, {"fifo", "sjf"}, kAll, [&](const World& world, const std::string&) -> std::string {
      worlds.insert(case_text(world, "fifo", ""));
      ++runs;
      return "";
    });
  }
  EXPECT_GE(runs, 4U);
  EXPECT_EQ(worlds.size(), runs);
}

// The stated rule "no two jobs ask for 2 GPUs" is broken by two jobs and nothing else.
std::string no_pair_of_twos(const World& world, const std::string&) {
  const auto twos = std::ranges::count(world.jobs, 2U, &WorldJob::gpus);
  return twos < 2 ? "" : "two jobs ask for 2 GPUs";
}

TEST(Property, ThatFailsIsReportedAsTheSmallestCase) {
  const std::string report = broken("NoPair", {"fifo:skip=true"}, kAll, no_pair_of_twos);
  ASSERT_TRUE(report.starts_with("# NoPair: two jobs ask for 2 GPUs\n")) << report;
  const auto found = parse_case(report, "report");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->policy, "fifo:skip=true");
  ASSERT_EQ(found->world.jobs.size(), 2U) << report;
  for (const WorldJob& job : found->world.jobs) {
    EXPECT_EQ(job.gpus, 2U);
    EXPECT_EQ(job.submit, Time{});
    EXPECT_EQ(job.model, "");
    EXPECT_EQ(job.gpus_max, 0U);
  }
  EXPECT_EQ(report.find("costs"), report.npos);
  EXPECT_EQ(report.find("faults"), report.npos);
  EXPECT_EQ(cluster_of(found->world.cluster)->rack_nodes.size(), 1U);
}

TEST(Property, KeepsTheIngredientsThatItNeedsToFail) {
  const Property no_starts = [](const World& world, const std::string&) -> std::string {
    return world.settings.costs.start == Duration{} ? "" : "starting costs something";
  };
  const std::string report = broken("NoStarts", policy_variants(), kAll, no_starts);
  const auto found = parse_case(report, "report");
  ASSERT_TRUE(found.has_value()) << report;
  EXPECT_GT(found->world.settings.costs.start, Duration{});
  EXPECT_EQ(found->world.jobs.size(), 1U);
}

TEST(Property, ReportsAtMostThreeVariants) {
  const Property never = [](const World&, const std::string&) -> std::string { return "no"; };
  const std::string report = broken("Never", policy_variants(), kAll, never);
  EXPECT_EQ(std::ranges::count(report, '#'), 3) << report;
}

TEST(PropertyDeathTest, PrintsTheCaseInWhichTheProgramAborts) {
  const Property aborts = [](const World&, const std::string&) -> std::string {
    FL_CHECK(false, "on purpose");
    return "";
  };
  EXPECT_DEATH(broken("Aborts", {"las"}, kAll, aborts),
               "# Aborts: the program aborts.\ncluster  .*\npolicy   las\n");
}

// Draws would cover nothing if an ingredient never came, or always.
TEST(DrawnWorld, HasEachIngredientInSomeWorldsAndNotInOthers) {
  std::map<std::string, int> have;
  constexpr int kWorlds = 100;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    const World world = drawn_world(seed, kAll);
    const Cluster cluster = cluster_of(world.cluster).value();
    have["racks"] += cluster.rack_nodes.size() > 1;
    have["types"] += cluster.type_names.size() > 1;
    have["models"] +=
        std::ranges::any_of(world.jobs, [](const WorldJob& job) { return !job.model.empty(); });
    have["elastic"] += std::ranges::any_of(
        world.jobs, [](const WorldJob& job) { return job.gpus_max > job.gpus; });
    have["tasks"] +=
        std::ranges::any_of(world.jobs, [](const WorldJob& job) { return job.task_gpus > 1; });
    have["levels"] += std::ranges::any_of(
        world.jobs, [](const WorldJob& job) { return !job.require_level.empty(); });
    have["start"] += world.settings.costs.start > Duration{};
    have["migrate"] += world.settings.costs.migrate[0] > Duration{};
    have["checkpoint"] += world.settings.faults.checkpoint_interval > Duration{};
    EXPECT_GT(world.settings.faults.mtbf_h, 0);
    EXPECT_EQ(case_text(world, "fifo", ""), case_text(drawn_world(seed, kAll), "fifo", ""));
  }
  for (const auto& [ingredient, worlds] : have) {
    EXPECT_GT(worlds, kWorlds / 10) << ingredient;
    EXPECT_LT(worlds, kWorlds * 9 / 10) << ingredient;
  }
}

TEST(DrawnWorld, HasNothingThatItMayNotHave) {
  const Ingredients nothing = {.racks = false,
                               .types = false,
                               .models = false,
                               .elastic = false,
                               .levels = false,
                               .costs = false,
                               .faults = false};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const World world = drawn_world(seed, nothing);
    const Cluster cluster = cluster_of(world.cluster).value();
    EXPECT_EQ(cluster.rack_nodes.size(), 1U);
    EXPECT_EQ(cluster.type_names.size(), 1U);
    const std::string text = case_text(world, "fifo", "");
    for (const char* word :
         {"model", "max", "require", "prefer", "costs", "faults", "checkpoint"}) {
      EXPECT_EQ(text.find(word), text.npos) << text;
    }
  }
}

}  // namespace
}  // namespace fairlead
