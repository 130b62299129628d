// Linear programs: maximise or minimise a weighted sum of columns (variables) within bounds,
// subject to bounds on rows (weighted sums of columns). Solved by COIN-OR Clp, which appears in no
// type here.
//
// The answer is a function of the program alone: columns, rows and coefficients in the same order
// give the same bits. If several answers are best, Clp chooses one. A caller that orders things by
// an answer must therefore break ties itself (solve/allocations.h).
#pragma once

#include "fairlead/base/result.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fairlead {

class LinearProgram {
 public:
  enum class Sense : std::uint8_t { kMinimise, kMaximise };
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Bounds {
    double lower = 0;
    double upper = kInfinity;
  };
  struct Entry {
    std::size_t row;
    std::size_t column;
    double coefficient;
  };

  explicit LinearProgram(Sense sense) : sense_(sense) {}

  // Both return the index, counted from 0. `cost`: the amount that one unit of the column adds to
  // the objective.
  std::size_t add_column(double cost, Bounds bounds);
  std::size_t add_row(Bounds bounds);
  // Adds coefficient * column to the row; several for the same pair add up.
  // REQUIRES: a row and a column that were added.
  void add(std::size_t row, std::size_t column, double coefficient);

  Sense sense() const { return sense_; }
  const std::vector<double>& costs() const { return costs_; }
  const std::vector<Bounds>& columns() const { return columns_; }
  const std::vector<Bounds>& rows() const { return rows_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Sense sense_;
  std::vector<double> costs_;
  std::vector<Bounds> columns_;
  std::vector<Bounds> rows_;
  std::vector<Entry> entries_;
};

struct LpSolution {
  double objective = 0;
  std::vector<double> values;  // value of each column, within its bounds to 1e-9
  // The dual value of each row: the change of the objective per unit by which the row's active
  // bound moves; 0 if no bound is active.
  std::vector<double> row_prices;
};

// Returns a best answer to the relative precision of doubles, or an error of a failed run that
// names the size. Errors: the program is infeasible, unbounded or not finished by Clp; or a cost, a
// coefficient or a bound is not a number (bounds may be infinite, outwards).
Result<LpSolution> solve(const LinearProgram& program);

}  // namespace fairlead
