#include "fairlead/solve/linear_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace fairlead {
namespace {

using Sense = LinearProgram::Sense;
constexpr double kInf = LinearProgram::kInfinity;

// max 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: the textbook program of Hillier and Lieberman.
LinearProgram windows_and_doors() {
  LinearProgram program(Sense::kMaximise);
  const std::size_t x = program.add_column(3, {});
  const std::size_t y = program.add_column(5, {});
  const std::size_t first = program.add_row({-kInf, 4});
  const std::size_t second = program.add_row({-kInf, 12});
  const std::size_t third = program.add_row({-kInf, 18});
  program.add(first, x, 1);
  program.add(second, y, 2);
  program.add(third, x, 3);
  program.add(third, y, 2);
  return program;
}

TEST(LinearProgram, FindsTheBestCornerAndWhatARowIsWorth) {
  const auto solution = solve(windows_and_doors());
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->objective, 36, 1e-9);
  EXPECT_NEAR(solution->values[0], 2, 1e-9);
  EXPECT_NEAR(solution->values[1], 6, 1e-9);
  EXPECT_NEAR(solution->row_prices[0], 0, 1e-9);
  EXPECT_NEAR(solution->row_prices[1], 1.5, 1e-9);
  EXPECT_NEAR(solution->row_prices[2], 1, 1e-9);
}

TEST(LinearProgram, PricesARowOfAMinimumByTheSameRule) {
  // min 2x + 3y with x + y >= 4, x <= 3: one more unit is had at 3.
  LinearProgram program(Sense::kMinimise);
  program.add_column(2, {0, 3});
  program.add_column(3, {});
  const std::size_t row = program.add_row({4, kInf});
  program.add(row, 0, 1);
  program.add(row, 1, 1);
  const auto solution = solve(program);
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->objective, 9, 1e-9);
  EXPECT_NEAR(solution->row_prices[0], 3, 1e-9);
}

TEST(LinearProgram, AddsUpCoefficientsOfTheSamePlace) {
  LinearProgram program(Sense::kMaximise);
  program.add_column(1, {});
  program.add_column(1, {0, 0});
  const std::size_t row = program.add_row({-kInf, 6});
  program.add(row, 0, 1);
  program.add(row, 1, 1);
  program.add(row, 0, 2);
  const auto solution = solve(program);
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->objective, 2, 1e-9);
}

TEST(LinearProgram, TakesBoundsBelowZeroAndFreeColumns) {
  // min x + y with x >= -2 and y free, x + 2y = 3.
  LinearProgram program(Sense::kMinimise);
  program.add_column(1, {-2, 5});
  program.add_column(1, {-kInf, kInf});
  const std::size_t row = program.add_row({3, 3});
  program.add(row, 0, 1);
  program.add(row, 1, 2);
  const auto solution = solve(program);
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->objective, 0.5, 1e-9);
  EXPECT_NEAR(solution->values[0], -2, 1e-9);
  EXPECT_NEAR(solution->values[1], 2.5, 1e-9);
}

TEST(LinearProgram, StopsAtADegenerateCorner) {
  // Beale's program, on which the plain simplex method goes round for ever.
  LinearProgram program(Sense::kMinimise);
  for (double cost : {-0.75, 150.0, -0.02, 6.0}) program.add_column(cost, {});
  const double rows[3][4] = {{0.25, -60, -1.0 / 25, 9}, {0.5, -90, -1.0 / 50, 3}, {0, 0, 1, 0}};
  for (const auto& coefficients : rows) {
    const std::size_t row = program.add_row({-kInf, coefficients[2] == 1 ? 1.0 : 0.0});
    for (std::size_t column = 0; column < 4; ++column) {
      program.add(row, column, coefficients[column]);
    }
  }
  const auto solution = solve(program);
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->objective, -0.05, 1e-9);
}

TEST(LinearProgram, OfNothingIsZero) {
  const auto nothing = solve(LinearProgram(Sense::kMaximise));
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->objective, 0);
  EXPECT_TRUE(nothing->values.empty());

  LinearProgram no_rows(Sense::kMaximise);
  no_rows.add_column(2, {0, 3});
  const auto at_bound = solve(no_rows);
  ASSERT_TRUE(at_bound);
  EXPECT_EQ(at_bound->objective, 6);

  LinearProgram no_columns(Sense::kMaximise);
  no_columns.add_row({-1, 1});
  EXPECT_TRUE(solve(no_columns));
  no_columns.add_row({1, 2});
  ASSERT_FALSE(solve(no_columns));
  EXPECT_EQ(solve(no_columns).error().message,
            "the linear program of 2 rows and 0 columns is infeasible");
}

TEST(LinearProgram, SaysThatItIsInfeasible) {
  LinearProgram program(Sense::kMaximise);
  program.add_column(1, {0, 1});
  program.add(program.add_row({2, kInf}), 0, 1);
  const auto solution = solve(program);
  ASSERT_FALSE(solution);
  EXPECT_EQ(solution.error().kind, Error::Kind::kRun);
  EXPECT_EQ(solution.error().message, "the linear program of 1 rows and 1 columns is infeasible");
}

TEST(LinearProgram, SaysThatItIsUnbounded) {
  LinearProgram program(Sense::kMaximise);
  program.add_column(1, {});
  program.add_column(0, {});
  const std::size_t row = program.add_row({-kInf, 1});
  program.add(row, 0, 1);
  program.add(row, 1, -1);
  const auto solution = solve(program);
  ASSERT_FALSE(solution);
  EXPECT_EQ(solution.error().message, "the linear program of 1 rows and 2 columns is unbounded");

  LinearProgram no_rows(Sense::kMaximise);
  no_rows.add_column(1, {});
  ASSERT_FALSE(solve(no_rows));
  EXPECT_EQ(solve(no_rows).error().message,
            "the linear program of 0 rows and 1 columns is unbounded");
}

TEST(LinearProgram, RefusesWhatIsNotANumber) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (double bad : {not_a_number, kInf}) {
    LinearProgram cost(Sense::kMaximise);
    cost.add_column(bad, {0, 1});
    EXPECT_FALSE(solve(cost));
    LinearProgram coefficient = windows_and_doors();
    coefficient.add(0, 1, bad);
    EXPECT_FALSE(solve(coefficient));
    LinearProgram bound = windows_and_doors();
    bound.add_row({bad, kInf});
    ASSERT_FALSE(solve(bound));
    EXPECT_EQ(solve(bound).error().message,
              "the linear program of 4 rows and 2 columns has a value that is not a number");
  }
}

TEST(LinearProgram, GivesTheSameBitsTwice) {
  const auto first = solve(windows_and_doors());
  const auto second = solve(windows_and_doors());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->values, second->values);
  EXPECT_EQ(first->row_prices, second->row_prices);
}

}  // namespace
}  // namespace fairlead
