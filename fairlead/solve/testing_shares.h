// Random problems of time shares and their solution as one plain linear program, for tests.
#pragma once

#include "fairlead/solve/linear_program.h"
#include "fairlead/solve/time_shares.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace fairlead {

// Solves the problem as written in time_shares.h, with rows scaled to a largest rate of 1.
// Maximises the level if `value` is empty.
inline Result<LpSolution> solve_plainly(const ShareProblem& problem,
                                        std::span<const double> value = {}) {
  LinearProgram program(LinearProgram::Sense::kMaximise);
  const std::size_t types = problem.types();
  for (std::size_t i = 0; i < problem.rate.size(); ++i) {
    const double worth = value.empty() ? 0 : value[i] * problem.count[i / types];
    program.add_column(worth, {0, problem.rate[i] > 0 ? LinearProgram::kInfinity : 0});
  }
  for (std::size_t type = 0; type < types; ++type) program.add_row({0, problem.gpus[type]});
  const std::size_t level = value.empty() ? program.add_column(1, {}) : 0;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const auto rates = std::span(problem.rate).subspan(row * types, types);
    const double fastest = *std::ranges::max_element(rates);
    const double largest = fastest > 0 ? fastest : 1;
    const std::size_t time = program.add_row({0, 1});
    const std::size_t progress =
        program.add_row({problem.floor[row] / largest, LinearProgram::kInfinity});
    for (std::size_t type = 0; type < types; ++type) {
      const std::size_t column = row * types + type;
      program.add(time, column, 1);
      program.add(progress, column, problem.rate[column] / largest);
      program.add(type, column, problem.count[row] * problem.gang[row]);
    }
    if (value.empty()) program.add(progress, level, -problem.part[row] / largest);
  }
  return solve(program);
}

// Few distinct values, so that ties are common, or many; types without GPUs; gangs larger than a
// type; rows that cannot run. Some row has a part.
inline ShareProblem any_share_problem(std::size_t rows_max, std::size_t types_max) {
  ShareProblem problem;
  const auto types = *rc::gen::inRange<std::size_t>(1, types_max + 1);
  const auto rows = *rc::gen::inRange<std::size_t>(1, rows_max + 1);
  const bool is_coarse = *rc::gen::arbitrary<bool>();
  const auto rate = [&] {
    if (is_coarse) return static_cast<double>(*rc::gen::inRange(0, 4));
    return *rc::gen::inRange(0, 8) == 0 ? 0.0 : *rc::gen::inRange(100, 10'000) / 1e3;
  };
  for (std::size_t k = 0; k < types; ++k) problem.gpus.push_back(*rc::gen::inRange(0, 12));
  for (std::size_t row = 0; row < rows; ++row) {
    const double scale = is_coarse ? 1 : std::pow(10, *rc::gen::inRange(-4, 7));
    problem.gang.push_back(1 << *rc::gen::inRange(0, 4));
    problem.count.push_back(*rc::gen::inRange(1, 4));
    for (std::size_t k = 0; k < types; ++k) problem.rate.push_back(rate() * scale);
    problem.floor.push_back(*rc::gen::inRange(0, 3) == 0 ? rate() * scale / 20 : 0);
    problem.part.push_back(*rc::gen::inRange(0, 4) == 0 ? 0 : (0.2 + rate()) * scale);
  }
  problem.part[0] = std::max(problem.part[0], 0.5);
  return problem;
}

}  // namespace fairlead
