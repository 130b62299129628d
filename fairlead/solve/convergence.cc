#include "fairlead/solve/convergence.h"

#include "fairlead/base/check.h"
#include "fairlead/solve/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fairlead {
namespace {

struct Fit {
  LossCurve curve;
  double residual = std::numeric_limits<double>::infinity();
};

// Fits b0 and b1 for a given b2. An error e of the loss moves 1 / (l - b2) by about e / (l - b2)^2.
// Each equation is therefore weighted by (l - b2)^2: all losses then count alike.
Fit fit_above(std::span<const LossPoint> points, double b2, std::vector<Equation>& equations) {
  equations.clear();
  for (const LossPoint& point : points) {
    const double above = point.loss - b2;
    const double weight = above * above;
    equations.push_back({.a = {weight * point.epoch, weight}, .y = above});
  }
  const LeastSquares found = non_negative_least_squares(equations, 2);
  Fit fit{.curve = {.b0 = found.x[0], .b1 = found.x[1], .b2 = b2}, .residual = 0};
  for (const LossPoint& point : points) {
    const double off = fit.curve.loss_at(point.epoch) - point.loss;
    fit.residual += off * off;
  }
  return fit;
}

}  // namespace

LossCurve fit_loss(std::span<const LossPoint> points) {
  FL_CHECK(points.size() >= 2, "{} points", points.size());
  const double lowest = std::ranges::min(points, {}, &LossPoint::loss).loss;
  FL_CHECK(lowest > 0, "a loss of {}", lowest);
  std::vector<Equation> equations;
  equations.reserve(points.size());
  // Three rounds of ten steps, each around the best of the last round. The lowest point itself is
  // not a candidate: it would have no weight.
  Fit best;
  double from = 0;
  double step = lowest / 10;
  for (int round = 0; round < 3; ++round, step /= 10) {
    const double first = from;
    for (int i = 0; i < (round == 0 ? 10 : 20); ++i) {
      const double b2 = first + i * step;
      if (b2 < 0 || b2 >= lowest) continue;
      const Fit fit = fit_above(points, b2, equations);
      if (fit.residual < best.residual) best = fit;
    }
    from = best.curve.b2 - step;
  }
  FL_CHECK(best.curve.b2 >= 0 && best.curve.b2 < lowest, "a limit of {} for losses from {}",
           best.curve.b2, lowest);
  return best.curve;
}

double epochs_to_converge(const LossCurve& curve, double threshold) {
  FL_CHECK(threshold > 0, "a threshold of {}", threshold);
  if (curve.b0 == 0) return curve.b1 > 0 ? 0 : std::numeric_limits<double>::infinity();
  // With x = b0 k + b1, one epoch takes 1 / x - 1 / (x + b0) off the loss: b0 / (x (x + b0)).
  const double x = (std::sqrt(curve.b0 * curve.b0 + 4 * curve.b0 / threshold) - curve.b0) / 2;
  return std::max(0.0, (x - curve.b1) / curve.b0);
}

}  // namespace fairlead
