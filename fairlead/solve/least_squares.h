// Non-negative least squares with few columns, exactly.
//
// The x >= 0 that minimises |Ax - y| solves the plain least-squares problem on the columns where it
// is positive. So it is the best non-negative one of the 2^columns plain solutions. With at most
// four columns, trying all of these active sets is simpler than walking from one to the next, and
// never cycles.
//
// Source: ours; the fits of Optimus (Peng et al., EuroSys 2018, section 3) ask for the solution.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace fairlead {

constexpr std::size_t kColumnsMax = 4;

struct LeastSquares {
  std::array<double, kColumnsMax> x = {};  // the columns beyond those asked for are 0
  double residual = 0;                     // sum of squares
};

// One row of A and of y. Columns beyond those asked for are ignored.
struct Equation {
  std::array<double, kColumnsMax> a = {};
  double y = 0;
};

// Solves the problem. Columns that depend on others (as when there are fewer equations than
// columns) are left at 0; of equally good solutions it returns the one on the first columns.
// REQUIRES: columns <= kColumnsMax; finite numbers. O(2^columns x (equations x columns +
// columns^3)), no allocation.
LeastSquares non_negative_least_squares(std::span<const Equation> equations, std::size_t columns);

}  // namespace fairlead
