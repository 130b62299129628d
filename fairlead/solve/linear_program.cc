#include "fairlead/solve/linear_program.h"

#include "fairlead/base/check.h"

#include <ClpSimplex.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace fairlead {
namespace {

// Clp's own default (1e-7) is coarser than the 1e-9 that shares of time are rounded to.
constexpr double kTolerance = 1e-9;

bool is_usable(LinearProgram::Bounds bounds) {
  return bounds.lower < LinearProgram::kInfinity && bounds.upper > -LinearProgram::kInfinity;
}

bool is_usable(const LinearProgram& program) {
  return std::ranges::all_of(program.costs(), [](double cost) { return std::isfinite(cost); }) &&
         std::ranges::all_of(program.entries(),
                             [](auto& entry) { return std::isfinite(entry.coefficient); }) &&
         std::ranges::all_of(program.columns(), [](auto bounds) { return is_usable(bounds); }) &&
         std::ranges::all_of(program.rows(), [](auto bounds) { return is_usable(bounds); });
}

// The coefficients column by column, as Clp takes them.
struct Matrix {
  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> coefficients;
};

Matrix matrix_of(const LinearProgram& program) {
  std::vector<LinearProgram::Entry> entries = program.entries();
  std::ranges::stable_sort(entries, {},
                           [](const auto& entry) { return std::tuple(entry.column, entry.row); });
  Matrix matrix{.starts = {0}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (i > 0 && entries[i - 1].column == entry.column && entries[i - 1].row == entry.row) {
      matrix.coefficients.back() += entry.coefficient;
      continue;
    }
    matrix.starts.resize(entry.column + 1, static_cast<CoinBigIndex>(matrix.rows.size()));
    matrix.rows.push_back(static_cast<int>(entry.row));
    matrix.coefficients.push_back(entry.coefficient);
  }
  matrix.starts.resize(program.columns().size() + 1, static_cast<CoinBigIndex>(matrix.rows.size()));
  return matrix;
}

void load(const LinearProgram& program, double sign, ClpSimplex& clp) {
  const auto lower = [](auto bounds) { return std::max(bounds.lower, -COIN_DBL_MAX); };
  const auto upper = [](auto bounds) { return std::min(bounds.upper, COIN_DBL_MAX); };
  const auto all = [](const std::vector<LinearProgram::Bounds>& bounds, auto bound) {
    std::vector<double> values(bounds.size());
    std::ranges::transform(bounds, values.begin(), bound);
    return values;
  };
  std::vector<double> costs = program.costs();
  for (double& cost : costs) cost *= sign;
  const Matrix matrix = matrix_of(program);
  clp.loadProblem(static_cast<int>(program.columns().size()),
                  static_cast<int>(program.rows().size()), matrix.starts.data(), matrix.rows.data(),
                  matrix.coefficients.data(), all(program.columns(), lower).data(),
                  all(program.columns(), upper).data(), costs.data(),
                  all(program.rows(), lower).data(), all(program.rows(), upper).data());
}

}  // namespace

std::size_t LinearProgram::add_column(double cost, Bounds bounds) {
  costs_.push_back(cost);
  columns_.push_back(bounds);
  return columns_.size() - 1;
}

std::size_t LinearProgram::add_row(Bounds bounds) {
  rows_.push_back(bounds);
  return rows_.size() - 1;
}

void LinearProgram::add(std::size_t row, std::size_t column, double coefficient) {
  FL_CHECK(row < rows_.size() && column < columns_.size(), "row {}, column {}", row, column);
  entries_.push_back({row, column, coefficient});
}

Result<LpSolution> solve(const LinearProgram& program) {
  const auto failure = [&](const char* what) {
    return run_error("the linear program of {} rows and {} columns {}", program.rows().size(),
                     program.columns().size(), what);
  };
  if (!is_usable(program)) return failure("has a value that is not a number");
  // Clp always minimises here, so that its signs mean the same in both senses.
  const double sign = program.sense() == LinearProgram::Sense::kMaximise ? -1 : 1;
  ClpSimplex clp;
  clp.setLogLevel(0);
  clp.setPrimalTolerance(kTolerance);
  clp.setDualTolerance(kTolerance);
  load(program, sign, clp);
  clp.dual();
  // The dual simplex cannot always distinguish the two; the primal one can.
  if (!clp.isProvenOptimal()) clp.primal();
  if (clp.isProvenPrimalInfeasible()) return failure("is infeasible");
  if (clp.isProvenDualInfeasible()) return failure("is unbounded");
  if (!clp.isProvenOptimal()) return failure("was not finished");

  LpSolution solution;
  FL_CHECK(clp.getNumCols() == static_cast<int>(program.columns().size()) &&
               clp.getNumRows() == static_cast<int>(program.rows().size()),
           "Clp solved {} rows and {} columns", clp.getNumRows(), clp.getNumCols());
  solution.values.assign(clp.getColSolution(), clp.getColSolution() + program.columns().size());
  solution.row_prices.assign(clp.getRowPrice(), clp.getRowPrice() + program.rows().size());
  for (double& price : solution.row_prices) price *= sign;
  solution.objective = std::inner_product(solution.values.begin(), solution.values.end(),
                                          program.costs().begin(), 0.0);
  return solution;
}

}  // namespace fairlead
