#include "fairlead/experiment/report.h"

#include "fairlead/experiment/figures.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

PublishedClaim claim_of(Bound bound, double expected, double tolerance = 0) {
  PublishedClaim claim;
  claim.text = "it gains";
  claim.column = "gain";
  claim.figure = find_claim_figure("gain");
  claim.bound = bound;
  claim.expected = {expected};
  claim.tolerance = tolerance;
  return claim;
}

ExperimentResult result_with(std::vector<std::string> labels, std::vector<Judgement> outcomes) {
  ExperimentResult result;
  result.experiment.name = "e";
  result.experiment.title = "Title";
  result.experiment.source = "Paper";
  result.experiment.question = "Why?";
  result.experiment.until_h = 2.5;
  for (const std::string& label : labels) {
    result.experiment.cases.push_back({label, "1xV100:4", {}, {{"a", "fifo"}}});
  }
  result.experiment.claims = {claim_of(Bound::kAtMost, 3)};
  result.seeds = {1};
  result.first_seeds = 1;
  result.outcomes = {std::move(outcomes)};
  return result;
}

TEST(Report, HasARowForEachClaim) {
  const ExperimentResult result =
      result_with({""}, {judge(claim_of(Bound::kAtMost, 3), {1, 2}, 3)});
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "claim     expected  ours              verdict\n"
            "it gains  ≤ 3 %     1.5 [1.0, 2.0] %  reached\n"
            "our targets: 1 of 1 reached\n");
}

TEST(Report, CountsWhatNoPolicyCanApart) {
  const PublishedClaim claim = claim_of(Bound::kAtMost, 3);
  const ExperimentResult result =
      result_with({"x", "y"}, {judge(claim, {4}, 3, 3.5), judge(claim, {2, 4.5}, 3, 2)});
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "case  gain, %\n"
            "x     4.0 (≤ 3, possible 3.5) ⊘\n"
            "y     3.2 [2.0, 4.5] (≤ 3, possible 2.0) ≈\n"
            "our targets: 0 of 1 reached, 1 undecided, 1 that no policy can\n");
}

TEST(Report, HasARowForEachCase) {
  Judgement skipped;
  skipped.verdict = Verdict::kSkipped;
  skipped.reason = "no data";
  const ExperimentResult result =
      result_with({"x", "y"}, {judge(claim_of(Bound::kAtMost, 3), {4}, 3), skipped});
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "case  gain, %\n"
            "x     4.0 (≤ 3) ✗\n"
            "y     skipped\n"
            "skipped: no data\n"
            "our targets: 0 of 1 reached, 1 not measured\n");
}

TEST(Report, LeavesOutWhatACaseDoesNotExpect) {
  PublishedClaim claim = claim_of(Bound::kEqual, 4);
  claim.tolerance_percent = 10;
  ExperimentResult result =
      result_with({"x", "y"}, {judge(claim, {4.1}, 4), judge(claim, {9}, std::nullopt)});
  result.experiment.claims = {claim};
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "case  gain, %\n"
            "x     4.1 (4 ± 10 %) ✓\n"
            "y     9.0\n"
            "our targets: 1 of 1 reached\n");
  result = result_with({""}, {judge(claim, {4.1}, 4)});
  result.experiment.claims = {claim};
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "claim     expected    ours   verdict\n"
            "it gains  4 % ± 10 %  4.1 %  reached\n"
            "our targets: 1 of 1 reached\n");
}

TEST(Report, HasARowForEachClaimWhereThereAreFewerCases) {
  const PublishedClaim claim = claim_of(Bound::kAtMost, 3);
  PublishedClaim other = claim_of(Bound::kNone, 0);
  other.column = "loss";
  ExperimentResult result = result_with({"x"}, {judge(claim, {1}, 3)});
  result.experiment.claims.push_back(other);
  result.outcomes.push_back({judge(other, {7}, std::nullopt)});
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: Title\n"
            "figure   x\n"
            "gain, %  1.0 (≤ 3) ✓\n"
            "loss, %  7.0\n"
            "our targets: 1 of 1 reached\n");
}

TEST(Report, IsAPage) {
  const ExperimentResult result = result_with({""}, {judge(claim_of(Bound::kAtMost, 3), {1}, 3)});
  const std::string page = results_page({result});
  EXPECT_TRUE(page.starts_with("# "));
  EXPECT_TRUE(page.ends_with(
      "## Title\n"
      "\n"
      "Why?\n"
      "\n"
      "- Source: Paper\n"
      "- Run: `fairlead reproduce e --out out/e`; cluster `1xV100:4`; *a*: `fifo`; seed 1; "
      "2.5 h\n"
      "\n"
      "| claim | expected | ours | verdict |\n"
      "|---|---|---|---|\n"
      "| it gains | ≤ 3 % | 1.0 % | reached |\n"))
      << page;
}

TEST(Report, CountsEachKindOfClaimsApart) {
  ExperimentResult result = result_with({""}, {judge(claim_of(Bound::kAtMost, 3), {1}, 3)});
  for (const ClaimKind kind : {ClaimKind::kNumber, ClaimKind::kIdentity}) {
    PublishedClaim claim = claim_of(Bound::kAtMost, 3);
    claim.kind = kind;
    result.experiment.claims.push_back(claim);
    result.outcomes.push_back({judge(claim, {4}, 3)});
  }
  EXPECT_TRUE(result_text(result, TextStyle::kPlain)
                  .ends_with("published numbers: 0 of 1 reached\n"
                             "our targets: 1 of 1 reached\n"
                             "identities: 0 of 1 reached\n"));
  EXPECT_NE(results_page({result, result})
                .find("| **all** |  | 0 of 2 reached |  | 2 of 2 reached | 0 of 2 reached |"),
            std::string::npos);
}

TEST(Report, IsJson) {
  const ExperimentResult result =
      result_with({""}, {judge(claim_of(Bound::kAtMost, 3), {1, 2, 1.5}, 3)});
  const auto value = nlohmann::json::parse(results_json({result}));
  const auto& claim = value["experiments"][0]["claims"][0];
  EXPECT_EQ(claim["bound"], "at_most");
  EXPECT_EQ(claim["outcomes"][0]["mean"], 1.5);
  // 1.5 -+ 4.303 * 0.5 / sqrt(3)
  EXPECT_NEAR(claim["outcomes"][0]["interval"][0].get<double>(), 0.258, 0.001);
  EXPECT_NEAR(claim["outcomes"][0]["interval"][1].get<double>(), 2.742, 0.001);
  EXPECT_EQ(claim["outcomes"][0]["expected"], 3);
  EXPECT_EQ(claim["outcomes"][0]["verdict"], "reached");
  EXPECT_EQ(claim["kind"], "target");
  const auto& verdicts = value["experiments"][0]["verdicts"];
  EXPECT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts["target"]["reached"], 1);
}

TEST(Report, ListsTheMeasuresOfAllPoliciesByCase) {
  ExperimentResult result;
  result.experiment.name = "e";
  result.experiment.title = "t";
  for (const char* label : {"small", "large"}) {
    result.experiment.cases.push_back(
        {.label = label, .policies = {{"first", "fifo"}, {"second", "las"}}});
  }
  double value = 1;
  for (const char* policy : {"first", "second"}) {
    PublishedClaim measure = claim_of(Bound::kNone, 0);
    measure.is_measure = true;
    measure.policy = policy;
    result.experiment.claims.push_back(measure);
    result.outcomes.push_back({judge(measure, {value}, {}), judge(measure, {value + 10}, {})});
    ++value;
  }
  EXPECT_EQ(result_text(result, TextStyle::kPlain),
            "e: t\n"
            "case   policy  gain, %\n"
            "small  first   1.0\n"
            "small  second  2.0\n"
            "large  first   11.0\n"
            "large  second  12.0\n"
            "nothing to judge\n");
}

}  // namespace
}  // namespace fairlead
