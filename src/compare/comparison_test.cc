#include "fairlead/compare/comparison.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using nlohmann::json;

json summary(std::uint64_t seed, double jct_s, const json& jain) {
  return {{"seed", seed},
          {"jct_avg_s", jct_s},
          {"finished", 3},
          {"users", {1, 2, 3}},
          {"fairness", {{"jain", jain}}}};
}

TEST(Comparison, TakesMeansOverTheSeedsThatHaveAFigure) {
  const ComparedPoint point{
      .policies = {{"fifo", "fifo", {summary(1, 10, 0.5), summary(2, 20, json())}}}};
  const json value = json::parse(comparison_json(point, 2));
  const json& policy = value["policies"][0];
  EXPECT_EQ(policy["mean"]["jct_avg_s"], 15);
  EXPECT_EQ(policy["mean"]["fairness"]["jain"], 0.5);
  EXPECT_TRUE(policy["mean"]["makespan_s"].is_null());
  EXPECT_EQ(policy["runs"].size(), 2u);
  EXPECT_FALSE(policy["runs"][0].contains("users"));
}

TEST(Comparison, PairsOnlySeedsThatBothHave) {
  const ComparedPoint point{
      .policies = {{"fifo", "fifo", {summary(1, 10, 1), summary(2, 20, 1), summary(3, 30, 1)}},
                   {"las", "las", {summary(2, 25, json()), summary(3, 36, 1)}}}};
  const json las = json::parse(comparison_json(point, 3))["policies"][1];
  const json& difference = las["difference_to_first"]["jct_avg_s"];
  EXPECT_EQ(difference["by_seed"], (json{5, 6}));
  EXPECT_EQ(difference["n"], 2);
  EXPECT_EQ(difference["is"], "range");
  EXPECT_EQ(las["difference_to_first"]["fairness"]["jain"]["n"], 1);
  EXPECT_TRUE(las["difference_to_first"]["makespan_s"].is_null());
  EXPECT_EQ(las["max"]["jct_avg_s"], 36);
}

TEST(Comparison, TellsOfSeedsThatOnlyTheSeedTellsApart) {
  json first = summary(1, 10, 1);
  json second = summary(2, 10, 1);
  first["journal_hash"] = "1";
  second["journal_hash"] = "2";
  const ComparedPoint alike{.policies = {{"fifo", "fifo", {first, second}}}};
  EXPECT_EQ(json::parse(comparison_json(alike, 2))["policies"][0]["seeds_alike"], true);
  second["migrations"] = 1;
  const ComparedPoint other{.policies = {{"fifo", "fifo", {first, second}}}};
  EXPECT_EQ(json::parse(comparison_json(other, 2))["policies"][0]["seeds_alike"], false);
}

TEST(Comparison, ShowsTimeLostToCommunicationWhereTheNetworkIsComputed) {
  nlohmann::json run = summary(1, 10, 1);
  run["comm_time_share"] = 0.25;
  const auto text = [&] {
    return comparison_text({.seeds = 1, .points = {{.policies = {{"fifo", "fifo", {run}}}}}},
                           TextStyle::kPlain);
  };
  EXPECT_EQ(text().find("communicating"), std::string::npos);
  run["settings"] = {{"network", "analytic"}};
  EXPECT_NE(text().find("communicating"), std::string::npos);
  EXPECT_NE(text().find("25.0 %"), std::string::npos);
}

TEST(Comparison, SaysThatTheSeedChangesNothingOnlyOfPoliciesThatAreAlikeAtEveryPoint) {
  const ComparedPolicy alike{"fifo", "fifo", {summary(1, 10, 1), summary(2, 10, 1)}};
  const ComparedPolicy differs{"fifo", "fifo", {summary(1, 10, 1), summary(2, 11, 1)}};
  const auto text = [](const ComparedPolicy& at_one, const ComparedPolicy& at_two) {
    return comparison_text({.seeds = 2,
                            .points = {{.values = {{"load", "1"}}, .policies = {at_one}},
                                       {.values = {{"load", "2"}}, .policies = {at_two}}}},
                           TextStyle::kPlain);
  };
  EXPECT_NE(text(alike, alike).find("The seed changes nothing here"), std::string::npos);
  EXPECT_EQ(text(alike, differs).find("The seed changes nothing"), std::string::npos);
}

TEST(Comparison, SweptValuesAreNumbersWhereTheyCanBe) {
  EXPECT_EQ(number_or_text("3"), json(3));
  EXPECT_EQ(number_or_text(".5"), json(0.5));
  EXPECT_EQ(number_or_text("100/200"), json("100/200"));
  EXPECT_EQ(number_or_text("true"), json("true"));
}

TEST(Comparison, TellsWhichRunsFailed) {
  const Comparison comparison{
      .points = {{.policies = {{"fifo", "fifo", {summary(0, 10, 1)}}, {"las", "las"}},
                  .failures = {{"las", 4, 1, "disk full"}}}}};
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
