// Estimates when training will have converged, from the losses reported so far (Optimus, EuroSys
// 2018, section 3.1).
//
// Under stochastic gradient descent a loss falls about as 1/k, so the curve is
//   l(k) = 1 / (b0 k + b1) + b2,  b0, b1, b2 >= 0
// with k the progress, in any unit that is the same for all points (epochs here). For a given b2
// the curve is linear in 1 / (l - b2), and b0, b1 are a non-negative least-squares fit; b2 is found
// by search. A job has converged when its loss falls by less than a threshold within an epoch.
#pragma once

#include <span>

namespace fairlead {

struct LossPoint {
  double epoch = 0;
  double loss = 0;
};

struct LossCurve {
  double b0 = 0;
  double b1 = 0;
  double b2 = 0;

  // Infinite if b0 and b1 are 0.
  double loss_at(double epoch) const { return 1 / (b0 * epoch + b1) + b2; }
};

// Returns the curve nearest to the points in least squares. It is exact if they lie on a curve,
// else exact to first order in their errors; b2 to a thousandth of the smallest loss. REQUIRES: two
// points or more; epochs >= 0; losses > 0. O(points).
LossCurve fit_loss(std::span<const LossPoint> points);

// Returns the first moment, in epochs, from which on the loss falls by at most `threshold` per
// epoch; 0 if it does from the start. Infinite if the curve never gets below; only b0 = b1 = 0 is
// such a curve. REQUIRES: threshold > 0. O(1).
double epochs_to_converge(const LossCurve& curve, double threshold);

}  // namespace fairlead
