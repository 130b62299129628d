#include "fairlead/metrics/figures.h"

#include "fairlead/base/testing_docs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace fairlead {
namespace {

TEST(Figures, AreExplainedInTheDocumentation) {
  std::vector<DocRow> rows;
  for (const Figure& figure : run_figures()) {
    rows.push_back({fmt::format("`{}`", figure.key), std::string(unit_name(figure.unit)),
                    std::string(figure.meaning)});
  }
  EXPECT_EQ(doc_table("docs/formats.md", "| figure | unit | meaning |"), rows);
}

TEST(Figures, HaveKeysOfTheirOwn) {
  std::set<std::string_view> keys;
  for (const Figure& figure : run_figures()) {
    EXPECT_TRUE(keys.insert(figure.key).second) << figure.key;
    EXPECT_EQ(find_figure(figure.key), &figure);
    EXPECT_EQ(figure.key.ends_with("_s"), figure.unit == FigureUnit::kSeconds) << figure.key;
  }
  EXPECT_EQ(find_figure("users"), nullptr);
}

TEST(Figures, AreThoseOfTheSummary) {
  Summary summary;
  summary.finished = 3;
  summary.jct_avg_s = 2.5;
  summary.gpu_hours = 0.5;
  summary.fairness.jain = 0.75;
  summary.bounds.makespan_lower_s = 9;
  const auto figure = [&](std::string_view key) { return find_figure(key)->of(summary); };
  EXPECT_EQ(figure("finished"), 3);
  EXPECT_EQ(figure("jct_avg_s"), 2.5);
  EXPECT_EQ(figure("gpu_hours"), 0.5);
  EXPECT_EQ(figure("fairness/jain"), 0.75);
  EXPECT_EQ(figure("bounds/makespan_lower_s"), 9);
  EXPECT_EQ(figure("makespan_s"), std::nullopt);
}

TEST(Figures, CountThePlacementsOfEachTier) {
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    const Figure* figure = find_figure(fmt::format("placements/{}", tier_name(Tier(tier))));
    ASSERT_NE(figure, nullptr) << tier_name(Tier(tier));
    Summary summary;
    summary.placements[tier] = 7;
    EXPECT_EQ(figure->of(summary), 7);
  }
}

}  // namespace
}  // namespace fairlead
