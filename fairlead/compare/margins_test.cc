#include "fairlead/compare/margins.h"

#include "fairlead/compare/spread.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

json run(std::uint64_t seed, double wait_s) {
  return {{"seed", seed}, {"queue_avg_s", wait_s}, {"finished", 3}, {"preemptions", 5}};
}

// A policy that waits `wait_s` on the trace and those times on its resamples.
ComparedPolicy policy(const std::string& name, double wait_s, const std::vector<double>& waits_s) {
  ComparedPolicy one{name, name, {run(0, wait_s)}};
  for (std::uint64_t i = 0; i < waits_s.size(); ++i)
    one.resamples.push_back(run(i + 1, waits_s[i]));
  return one;
}

const Figure& wait() { return *find_figure("queue_avg_s"); }

std::string text_of(std::vector<ComparedPolicy> policies, std::int64_t days = 7) {
  return margins_text({.resampling = {.resamples = 4, .days = days, .block_days = 1},
                       .points = {{.policies = std::move(policies)}}},
                      TimeUnits::kSeconds);
}

TEST(Margins, AreTheSpreadOfTheResamplesWhateverTheirNumber) {
  EXPECT_NEAR(resampled_margin({8, 12, 8, 12}), 3.182 * std::sqrt(16.0 / 3), 1e-9);
  std::vector<double> many;
  for (int i = 0; i < 1000; ++i) many.push_back(i % 2 == 0 ? 8 : 12);
  EXPECT_NEAR(resampled_margin(many), 1.98 * 2, 0.01);
  EXPECT_EQ(resampled_margin({5, 5, 5}), 0);
}

TEST(Margins, OnlyOfMeasuresAndOfTwoResamples) {
  EXPECT_TRUE(margin_of(policy("a", 10, {9, 11}), wait()).has_value());
  EXPECT_FALSE(margin_of(policy("a", 10, {9}), wait()).has_value());
  EXPECT_FALSE(margin_of(policy("a", 10, {9, 11}), *find_figure("preemptions")).has_value());
  EXPECT_FALSE(margin_of(policy("a", 10, {9, 11}), *find_figure("makespan_s")).has_value());
}

TEST(Margins, DifferencesArePairedByResample) {
  // Waits differ much between resamples, and the policies by the same in each.
  const ComparedPolicy slow = policy("slow", 100, {50, 150, 20, 400});
  const ComparedPolicy fast = policy("fast", 90, {40, 140, 10, 390});
  const auto difference = resampled_difference(fast, slow, wait());
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->value, -10);
  EXPECT_EQ(difference->margin, 0);
  EXPECT_EQ(difference->less_in, 4U);
  EXPECT_EQ(difference->more_in, 0U);
  EXPECT_TRUE(difference->is_clear());
  EXPECT_FALSE(resampled_difference(fast, policy("as-recorded", 5, {}), wait()).has_value());
}

TEST(Margins, AreALineForEachPolicyAndADoubtfulOneIsNamed) {
  const std::string text =
      text_of({policy("as-recorded", 5, {}), policy("slurm", 100, {100, 110, 90, 100}),
               policy("las", 90, {140, 80, 85, 95}), policy("fifo", 300, {290, 310, 300, 300})});
  EXPECT_EQ(text.find("as-recorded"), std::string::npos) << text;
  EXPECT_NE(text.find("\nlas waits 10.0 s ± "), std::string::npos) << text;
  EXPECT_NE(
      text.find("less than slurm in the mean, less in 3 of 4 resampled weeks. The trace does not "
                "distinguish them.\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("longer than slurm in the mean, longer in 4 of 4 resampled weeks.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text_of({policy("a", 1, {1, 2}), policy("b", 2, {2, 3})}, 30).find("resampled months."),
            std::string::npos);
}

TEST(Margins, OfJobsThatAPolicyLeftOutAreNotCompared) {
  ComparedPolicy left = policy("left", 10, {10, 12});
  left.summaries[0]["finished"] = 2;
  EXPECT_EQ(text_of({policy("a", 20, {20, 22}), left}).find("waits"), std::string::npos);
}

TEST(Margins, ARunWithoutThemHasALineAboutIt) {
  const auto text = [](const Comparison& comparison) {
    return margins_text(comparison, TimeUnits::kHuman);
  };
  EXPECT_EQ(text({}),
            "One run, no margin: a trace of 7 days or more has one with --resample 20.\n");
  EXPECT_EQ(text({.seeds = 3}), "");
  EXPECT_EQ(text({.resampling = {.refused = "t is short"}}), "No margin: t is short\n");
}

TEST(Margins, AreInTheJsonOfEachPolicy) {
  const ComparedPoint point{.policies = {policy("slurm", 100, {100, 110, 90, 100}),
                                         policy("las", 90, {140, 80, 85, 95})}};
  const json value =
      json::parse(comparison_json(point, 1, {.resamples = 4, .days = 9, .block_days = 2}));
  EXPECT_EQ(value["resampling"], (json{{"resamples", 4}, {"days", 9}, {"block_days", 2}}));
  const json& las = value["policies"][1]["resampled"];
  EXPECT_EQ(las["base"], "slurm");
  EXPECT_EQ(las["values"]["queue_avg_s"], (json{140, 80, 85, 95}));
  EXPECT_EQ(las["difference_to_base"]["queue_avg_s"]["value"], -10);
  EXPECT_EQ(las["difference_to_base"]["queue_avg_s"]["less_in"], 3);
  EXPECT_TRUE(las["margin"]["makespan_s"].is_null());
  EXPECT_FALSE(json::parse(comparison_json(point, 1))["policies"][1].contains("resampled"));
}

}  // namespace
}  // namespace fairlead
