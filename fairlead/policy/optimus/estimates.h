// The estimates of Optimus about a job: the speed of its gangs, and its remaining work.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/policy/policy.h"
#include "fairlead/solve/convergence.h"

#include <array>
#include <cstdint>

namespace fairlead {

// Returns true if the job runs on any `gpus` GPUs of that type: at every tier that such a gang can
// have here. O(tiers log rows).
bool can_run(const View& view, JobId job, GpuTypeId type, std::uint32_t gpus);

// The speed model of synchronous training (Optimus section 3.2) with one worker and one parameter
// server per GPU: n GPUs run at rate
//   1 / (a / n + b + c n),  a, b, c >= 0
// because a mini-batch costs computation that is divided among workers, constant parts, and
// communication that grows with them. It is fitted to the rates at a few sizes, the relative errors
// in least squares, and stands for all others.
class FittedSpeed {
 public:
  // Samples the table at the best tier of the sizes that run among: `smallest`, `asked`, `largest`,
  // and the power of two in the geometric middle of the first and the last. REQUIRES: smallest <=
  // asked <= largest; one of them runs.
  FittedSpeed(const View& view, JobId job, GpuTypeId type, std::uint32_t smallest,
              std::uint32_t asked, std::uint32_t largest);
  double rate(std::uint32_t gpus) const;

 private:
  struct Sample {
    std::uint32_t gpus = 0;
    double rate = 0;
  };
  std::array<Sample, 4> samples_{};
  std::size_t count_ = 0;
  std::array<double, 3> terms_{};  // a, b, c
};

// The losses that a job would report, and the remaining work by a fit of them.
//
// The simulated world has no losses, so they are made up. Each job has a hidden curve
// (solve/convergence.h) and a threshold of its own, drawn by seed and job. Its moment of
// convergence stands for all of the job's true work. At a true progress of p it has reported the
// losses of the epochs up to p, each off by a few per cent. The estimate sees only these, so it is
// far off at first and gets better, as in the paper's figures. Its error depends on the drawing,
// which is ours: it shows how the policy copes with wrong estimates, not the quality of the
// paper's.
class MadeUpTraining {
 public:
  MadeUpTraining(std::uint64_t seed, JobId job);
  // Returns the estimate of the remaining work: a multiple of the job's true work, for 0 <=
  // progress <= 1. Before enough losses are reported, kEpochsGuessed epochs in all; at least one
  // epoch, at most kEpochsMax. O(1): at most kPoints losses are fitted.
  double believed_left(double progress) const;

  static constexpr double kEpochsGuessed = 30;
  static constexpr double kEpochsMax = 400;
  static constexpr int kPoints = 20;

 private:
  double reported_loss(std::int64_t epoch) const;

  Rng rng_;
  LossCurve curve_;
  double threshold_;
  double epochs_;  // until it converges
};

}  // namespace fairlead
