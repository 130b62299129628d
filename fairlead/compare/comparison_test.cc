#include "fairlead/compare/comparison.h"

#include <gtest/gtest.h>

#include <sstream>

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

// Returns the line of the text that starts with this.
std::string line_of(const std::string& text, const std::string& begin) {
  const std::size_t at = ("\n" + text).find("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Comparison, MarksTheBestOfThePoliciesThatFinishedMost) {
  const auto run = [](double jct_s, std::int64_t finished) {
    json value = summary(0, jct_s, 1);
    value["finished"] = finished;
    value["makespan_s"] = 7200;
    value["bounds"] = {{"jct_avg_lower_s", 600}, {"makespan_lower_s", 3600}};
    return value;
  };
  const Comparison comparison{.points = {{.policies = {{"fifo", "fifo", {run(2340, 4)}},
                                                       {"las", "las", {run(1200, 4)}},
                                                       {"quick", "quick", {run(660, 3)}}}}}};
  const std::string text = comparison_text(comparison, TextStyle::kPlain);
  EXPECT_NE(line_of(text, "fifo ").find(" 39 min "), std::string::npos) << text;
  EXPECT_NE(line_of(text, "las ").find(" 20 min* "), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "quick ").find('*'), std::string::npos) << "it left a job out:\n" << text;
  EXPECT_NE(line_of(text, "(lower bound)").find(" 10 min "), std::string::npos) << text;
  EXPECT_NE(text.find("* best of its column"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "las ").find("2 h*"), std::string::npos) << "all have the same:\n"
                                                                   << text;
  const std::string seconds = comparison_text(comparison, TextStyle::kPlain, TimeUnits::kSeconds);
  EXPECT_NE(line_of(seconds, "las ").find(" 1,200.0* "), std::string::npos) << seconds;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kScreenColumns) << line;
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
