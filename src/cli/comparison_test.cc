#include "cli/comparison.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using nlohmann::json;

json summary(double jct_s, const json& jain) {
  return {
      {"jct_avg_s", jct_s}, {"finished", 3}, {"users", {1, 2, 3}}, {"fairness", {{"jain", jain}}}};
}

TEST(Comparison, TakesMeansOverTheSeedsThatHaveAFigure) {
  const Comparison comparison{
      .policies = {{"fifo", "fifo", {summary(10, 0.5), summary(20, json())}}}, .failures = {}};
  const json value = json::parse(comparison_json(comparison));
  const json& policy = value["policies"][0];
  EXPECT_EQ(policy["mean"]["jct_avg_s"], 15);
  EXPECT_EQ(policy["mean"]["fairness"]["jain"], 0.5);
  EXPECT_TRUE(policy["mean"]["makespan_s"].is_null());
  EXPECT_EQ(policy["runs"].size(), 2u);
  EXPECT_FALSE(policy["runs"][0].contains("users"));
}

TEST(Comparison, TellsWhichRunsFailed) {
  const Comparison comparison{.policies = {{"fifo", "fifo", {summary(10, 1)}}, {"las", "las", {}}},
                              .failures = {{"las", 4, 1, "disk full"}}};
  const json failure = json::parse(comparison_json(comparison))["failures"][0];
  EXPECT_EQ(failure["policy"], "las");
  EXPECT_EQ(failure["seed"], 4);
  EXPECT_EQ(failure["exit_code"], 1);
  EXPECT_EQ(failure["message"], "disk full");
  const std::string table = comparison_text(comparison, TextStyle::kPlain);
  EXPECT_NE(table.find("\nfifo "), std::string::npos);
  EXPECT_EQ(table.find("\nlas"), std::string::npos);
}

}  // namespace
}  // namespace fairlead
