#include "fairlead/solve/least_squares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

constexpr std::size_t kColumns = 3;

TEST(LeastSquares, SolvesEquationsThatHaveANonNegativeSolution) {
  const std::vector<Equation> equations = {
      {.a = {1, 0, 2}, .y = 8}, {.a = {0, 1, 1}, .y = 5}, {.a = {1, 1, 0}, .y = 4}};
  const LeastSquares found = non_negative_least_squares(equations, 3);
  EXPECT_NEAR(found.x[0], 2, 1e-12);
  EXPECT_NEAR(found.x[1], 2, 1e-12);
  EXPECT_NEAR(found.x[2], 3, 1e-12);
  EXPECT_NEAR(found.residual, 0, 1e-20);
}

TEST(LeastSquares, SetsToZeroWhatWouldBeNegative) {
  // The line through (0, 1), (1, 0) falls; the nearest that does not is constant.
  const std::vector<Equation> equations = {{.a = {1, 0}, .y = 1}, {.a = {1, 1}, .y = 0}};
  const LeastSquares found = non_negative_least_squares(equations, 2);
  EXPECT_DOUBLE_EQ(found.x[0], 0.5);
  EXPECT_EQ(found.x[1], 0);
  EXPECT_DOUBLE_EQ(found.residual, 0.5);
}

TEST(LeastSquares, FindsAColumnThatOnlyHelpsWithoutAnother) {
  // The plain solution on both columns is (-1, 2).
  const std::vector<Equation> equations = {{.a = {1, 1}, .y = 1}, {.a = {0, 1}, .y = 2}};
  const LeastSquares found = non_negative_least_squares(equations, 2);
  EXPECT_EQ(found.x[0], 0);
  EXPECT_DOUBLE_EQ(found.x[1], 1.5);
}

TEST(LeastSquares, LeavesColumnsAtZeroThatDependOnEarlierOnes) {
  const std::vector<Equation> equations = {{.a = {1, 2, 0}, .y = 3}};
  const LeastSquares found = non_negative_least_squares(equations, 3);
  EXPECT_DOUBLE_EQ(found.x[0], 3);
  EXPECT_EQ(found.x[1], 0);
  EXPECT_EQ(found.x[2], 0);
}

TEST(LeastSquares, IsAllZeroWhereNothingPointsUpwards) {
  const std::vector<Equation> equations = {{.a = {1, 2, 0}, .y = -3}, {.a = {2, 1, 0}, .y = -1}};
  const LeastSquares found = non_negative_least_squares(equations, 3);
  EXPECT_EQ(found.x, (std::array<double, kColumnsMax>{}));
  EXPECT_EQ(found.residual, 10);
  EXPECT_EQ(non_negative_least_squares({}, 3).residual, 0);
}

TEST(LeastSquares, IsNotDisturbedByColumnsOfVeryDifferentSize) {
  std::vector<Equation> equations;
  for (int n = 1; n <= 5; ++n) {
    const double a = 1e6 / n;
    const double c = 1e-6 * n;
    equations.push_back({.a = {a, 1, c}, .y = 2e-6 * a + 3 + 4e6 * c});
  }
  const LeastSquares found = non_negative_least_squares(equations, 3);
  EXPECT_NEAR(found.x[0], 2e-6, 1e-12);
  EXPECT_NEAR(found.x[1], 3, 1e-6);
  EXPECT_NEAR(found.x[2], 4e6, 1);
}

// The conditions that only the best solution meets (Karush, Kuhn, Tucker). Using a used column more
// or less would not help, and using an unused one more would not either.
RC_GTEST_PROP(LeastSquares, NoColumnCouldBeUsedToBetterAdvantage, ()) {
  const auto number = [] { return *rc::gen::inRange(-9, 10); };
  std::vector<Equation> equations(*rc::gen::inRange<std::size_t>(0, 7));
  for (Equation& each : equations) {
    for (std::size_t i = 0; i < kColumns; ++i) each.a[i] = number();
    each.y = number();
  }
  const LeastSquares found = non_negative_least_squares(equations, kColumns);
  for (std::size_t i = 0; i < kColumns; ++i) {
    double gradient = 0;
    for (const Equation& each : equations) {
      double off = -each.y;
      for (std::size_t j = 0; j < kColumns; ++j) off += each.a[j] * found.x[j];
      gradient += each.a[i] * off;
    }
    RC_ASSERT(found.x[i] >= 0);
    RC_ASSERT(gradient > -1e-6);
    if (found.x[i] > 1e-9) RC_ASSERT(gradient < 1e-6);
  }
}

}  // namespace
}  // namespace fairlead
