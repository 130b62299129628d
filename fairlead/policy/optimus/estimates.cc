#include "fairlead/policy/optimus/estimates.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/solve/least_squares.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace fairlead {
namespace {

constexpr double kNoise = 0.05;  // fraction of a reported loss
constexpr std::int64_t kEpochsToFit = 4;

double between(double low, double high, Rng& rng) { return low + (high - low) * rng.uniform(); }

}  // namespace

bool can_run(const View& view, JobId job, GpuTypeId type, std::uint32_t gpus) {
  const Tier widest = gpus == 1 ? Tier::kPair : view.cluster.best_tier(view.cluster.gpus);
  for (Tier tier = view.cluster.best_tier(gpus); tier <= widest;
       tier = Tier(static_cast<int>(tier) + 1)) {
    if (view.speed.rate(job, type, gpus, tier).value_or(Rate{}).fixed == 0) return false;
  }
  return true;
}

FittedSpeed::FittedSpeed(const View& view, JobId job, GpuTypeId type, std::uint32_t smallest,
                         std::uint32_t asked, std::uint32_t largest) {
  const double middle = std::sqrt(static_cast<double>(smallest) * static_cast<double>(largest));
  const std::uint32_t power =
      std::max(smallest, std::bit_floor(static_cast<std::uint32_t>(middle)));
  std::array<std::uint32_t, 4> sizes = {smallest, power, asked, largest};
  std::ranges::sort(sizes);
  std::array<Equation, 4> equations;
  std::uint32_t before = 0;
  for (std::uint32_t gpus : sizes) {
    const double rate = view.speed.best_rate(job, type, gpus).value();
    if (gpus == before || rate == 0) continue;
    before = gpus;
    // The time of a mini-batch is 1 / rate; times the rate, so that errors are relative.
    equations[count_] = {.a = {rate / gpus, rate, rate * gpus}, .y = 1};
    samples_[count_++] = {gpus, rate};
  }
  FL_CHECK(count_ > 0, "job {} runs at no size", job.row());
  const LeastSquares fit = non_negative_least_squares(std::span(equations).first(count_), 3);
  std::copy_n(fit.x.begin(), terms_.size(), terms_.begin());
}

double FittedSpeed::rate(std::uint32_t gpus) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (samples_[i].gpus == gpus) return samples_[i].rate;
  }
  return 1 / (terms_[0] / gpus + terms_[1] + terms_[2] * gpus);
}

MadeUpTraining::MadeUpTraining(std::uint64_t seed, JobId job) : rng_(Rng(seed).split(job.row())) {
  // Half of the jobs take 14 to 27 epochs, nearly all others up to 115.
  Rng rng = rng_;
  curve_ = {.b0 = between(0.05, 1, rng), .b1 = 1, .b2 = between(0, 0.4, rng)};
  threshold_ = between(0.001, 0.004, rng);
  epochs_ = std::max(1.0, epochs_to_converge(curve_, threshold_));
}

double MadeUpTraining::reported_loss(std::int64_t epoch) const {
  Rng rng = rng_.split(static_cast<std::uint64_t>(epoch));
  return curve_.loss_at(static_cast<double>(epoch)) * between(1 - kNoise, 1 + kNoise, rng);
}

double MadeUpTraining::believed_left(double progress) const {
  const double done = progress * epochs_;
  const auto reports = static_cast<std::int64_t>(done);
  double epochs = kEpochsGuessed;
  if (reports >= kEpochsToFit) {
    std::array<LossPoint, kPoints> points;
    const std::int64_t count = std::min<std::int64_t>(reports, kPoints);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t epoch = (i + 1) * reports / count;
      points[static_cast<std::size_t>(i)] = {static_cast<double>(epoch), reported_loss(epoch)};
    }
    const LossCurve fitted = fit_loss(std::span(points).first(static_cast<std::size_t>(count)));
    epochs = std::min(kEpochsMax, epochs_to_converge(fitted, threshold_));
  }
  return std::max(1.0, epochs - done) / epochs_;
}

}  // namespace fairlead
