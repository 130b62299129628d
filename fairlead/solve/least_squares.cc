#include "fairlead/solve/least_squares.h"

#include "fairlead/base/check.h"

#include <cmath>

namespace fairlead {
namespace {

// Below this fraction of a column's square, the part not explained by other columns is rounding.
constexpr double kDependent = 1e-10;
// The part by which a solution with more columns must be better, lest rounding choose.
constexpr double kBetter = 1e-12;

using Vector = std::array<double, kColumnsMax>;

// Products of the columns, each scaled to length 1, with each other and with y.
struct Normal {
  std::array<Vector, kColumnsMax> gram = {};
  Vector y = {};
  Vector length = {};
};

Normal normal_equations(std::span<const Equation> equations, std::size_t columns) {
  Normal normal;
  for (std::size_t i = 0; i < columns; ++i) {
    for (const Equation& each : equations) normal.length[i] += each.a[i] * each.a[i];
    normal.length[i] = std::sqrt(normal.length[i]);
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (normal.length[i] == 0) continue;
    for (const Equation& each : equations) {
      const double scaled = each.a[i] / normal.length[i];
      normal.y[i] += scaled * each.y;
      for (std::size_t j = 0; j < columns; ++j) {
        if (normal.length[j] > 0) normal.gram[i][j] += scaled * each.a[j] / normal.length[j];
      }
    }
  }
  return normal;
}

// Solves the normal equations of the columns in `set` by Cholesky's factors, x being 0 elsewhere.
// Returns false if the columns depend on each other or a part of x is negative.
bool solve(const Normal& normal, unsigned set, Vector& x) {
  std::array<std::size_t, kColumnsMax> columns = {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kColumnsMax; ++i) {
    if ((set >> i & 1U) != 0) columns[count++] = i;
  }
  std::array<Vector, kColumnsMax> factor = {};
  Vector forward = {};
  for (std::size_t i = 0; i < count; ++i) {
    double pivot = normal.gram[columns[i]][columns[i]];
    forward[i] = normal.y[columns[i]];
    for (std::size_t j = 0; j < i; ++j) {
      double sum = normal.gram[columns[i]][columns[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= factor[i][k] * factor[j][k];
      factor[i][j] = sum / factor[j][j];
      pivot -= factor[i][j] * factor[i][j];
      forward[i] -= factor[i][j] * forward[j];
    }
    if (pivot < kDependent) return false;
    factor[i][i] = std::sqrt(pivot);
    forward[i] /= factor[i][i];
  }
  x = {};
  for (std::size_t i = count; i-- > 0;) {
    double rest = forward[i];
    for (std::size_t j = i + 1; j < count; ++j) rest -= factor[j][i] * x[columns[j]];
    x[columns[i]] = rest / factor[i][i];
    if (x[columns[i]] < 0) return false;
  }
  return true;
}

double residual_of(std::span<const Equation> equations, const Vector& x) {
  double sum = 0;
  for (const Equation& each : equations) {
    double off = -each.y;
    for (std::size_t i = 0; i < x.size(); ++i) off += each.a[i] * x[i];
    sum += off * off;
  }
  return sum;
}

}  // namespace

LeastSquares non_negative_least_squares(std::span<const Equation> equations, std::size_t columns) {
  FL_CHECK(columns <= kColumnsMax, "{} columns", columns);
  const Normal normal = normal_equations(equations, columns);
  LeastSquares best;
  best.residual = residual_of(equations, best.x);
  const double close = kBetter * best.residual;  // scale of the problem: the residual of y = 0 x A
  for (unsigned set = 1; set < 1U << columns; ++set) {
    LeastSquares tried;
    if (!solve(normal, set, tried.x)) continue;
    for (std::size_t i = 0; i < columns; ++i) {
      if (normal.length[i] > 0) tried.x[i] /= normal.length[i];
    }
    tried.residual = residual_of(equations, tried.x);
    if (tried.residual < best.residual - close) best = tried;
  }
  return best;
}

}  // namespace fairlead
