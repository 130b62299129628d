#include "fairlead/solve/convergence.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fairlead {
namespace {

std::vector<LossPoint> points_of(const LossCurve& curve, int epochs, double noise = 0,
                                 std::uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<LossPoint> points;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double off = 1 + noise * (2 * rng.uniform() - 1);
    points.push_back({static_cast<double>(epoch), curve.loss_at(epoch) * off});
  }
  return points;
}

double mean_error(double noise, int epochs) {
  constexpr int kCurves = 50;
  double sum = 0;
  Rng rng(7);
  for (int i = 0; i < kCurves; ++i) {
    const LossCurve curve{
        .b0 = 0.1 + rng.uniform(), .b1 = 1 + rng.uniform(), .b2 = 0.3 * rng.uniform()};
    const double truth = epochs_to_converge(curve, 0.002);
    const LossCurve fitted = fit_loss(points_of(curve, epochs, noise, rng.next()));
    sum += std::abs(std::min(epochs_to_converge(fitted, 0.002), 1000.0) / truth - 1);
  }
  return sum / kCurves;
}

TEST(Convergence, RecoversACurveFromItsOwnPoints) {
  const LossCurve fitted = fit_loss(points_of({.b0 = 0.25, .b1 = 1.25, .b2 = 0.3}, 30));
  EXPECT_NEAR(fitted.b0, 0.25, 0.01);
  EXPECT_NEAR(fitted.b1, 1.25, 0.05);
  EXPECT_NEAR(fitted.b2, 0.3, 0.003);
}

TEST(Convergence, RecoversACurveThatFallsToZero) {
  const LossCurve fitted = fit_loss(points_of({.b0 = 0.5, .b1 = 1, .b2 = 0}, 20));
  EXPECT_NEAR(fitted.b0, 0.5, 1e-9);
  EXPECT_NEAR(fitted.b1, 1, 1e-9);
  EXPECT_EQ(fitted.b2, 0);
}

TEST(Convergence, ConvergesWhereAnEpochTakesTheThresholdOff) {
  const LossCurve curve{.b0 = 0.25, .b1 = 1.25, .b2 = 0.3};
  const double epochs = epochs_to_converge(curve, 0.002);
  EXPECT_NEAR(curve.loss_at(epochs) - curve.loss_at(epochs + 1), 0.002, 1e-12);
}

TEST(Convergence, IsThereFromTheStartWhereTheLossHardlyFalls) {
  EXPECT_EQ(epochs_to_converge({.b0 = 0.001, .b1 = 2, .b2 = 0}, 0.01), 0);
  EXPECT_EQ(epochs_to_converge({.b0 = 0, .b1 = 2, .b2 = 0}, 0.01), 0);
  EXPECT_EQ(epochs_to_converge({}, 0.01), std::numeric_limits<double>::infinity());
}

TEST(Convergence, TakesALossThatRisesForOneThatStays) {
  const std::vector<LossPoint> rising = {{1, 0.5}, {2, 0.6}, {3, 0.7}};
  const LossCurve fitted = fit_loss(rising);
  EXPECT_EQ(fitted.b0, 0);
  EXPECT_GT(fitted.loss_at(1), 0.5);
  EXPECT_LT(fitted.loss_at(1), 0.7);
}

TEST(Convergence, IsPredictedBetterTheMoreLossesWereSeen) {
  EXPECT_LT(mean_error(0, 10), 0.05);
  EXPECT_LT(mean_error(0.02, 40), mean_error(0.02, 8) / 2);
  EXPECT_LT(mean_error(0.02, 40), 0.25);
}

RC_GTEST_PROP(Convergence, WithoutNoiseThePredictionIsNear, ()) {
  const auto drawn = [](int low, int high) { return 0.01 * *rc::gen::inRange(low, high); };
  const LossCurve curve{.b0 = drawn(5, 200), .b1 = drawn(50, 300), .b2 = drawn(0, 100)};
  const double threshold = 0.05 * drawn(1, 20);
  const LossCurve fitted = fit_loss(points_of(curve, 20));
  const double truth = epochs_to_converge(curve, threshold);
  const double predicted = epochs_to_converge(fitted, threshold);
  RC_ASSERT(std::abs(predicted - truth) <= 1 + 0.05 * truth);
}

}  // namespace
}  // namespace fairlead
