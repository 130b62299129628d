// The consolidation after a round of copies on nodes of unequal speed (HadarE, arXiv 2503.10918; its abstract describes
// a tracker that adds up steps and consolidates parameters; the rest is ours).
//
//   split    the steps of a round go to the copies by speed, so that all end together
//   average  all copies start the next round with the mean of their parameters, weighted by the steps of each
//   outer    optional: the change of a round is used as a gradient, with its own step and momentum
//            (DiLoCo, arXiv 2311.08105)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// Returns the steps of each copy, which add up to `steps`, such that the last copy ends as early as possible. REQUIRES:
// speeds are above 0, and there is one. O(copies^2).
std::vector<std::uint64_t> split_steps(std::uint64_t steps, std::span<const double> speeds);

// Sets `mean` to the copies' parameters, weighted by steps; copies without any do not count.
// REQUIRES: all have the size of `mean`; some copy made a step. O(copies x parameters).
void average(std::span<const std::span<const float>> copies, std::span<const std::uint64_t> steps,
             std::span<float> mean);

// Nesterov momentum over rounds.
class OuterMomentum {
 public:
  // With a rate of 1 and a momentum of 0 parameters become the mean of the copies.
  OuterMomentum(double rate, double momentum) : rate_(rate), momentum_(momentum) {}
  // Replaces the parameters at a round's start, given the mean at its end, by those for the next round. O(parameters).
  void step(std::span<float> parameters, std::span<const float> mean);
  // Returns the state kept from round to round, one number per parameter; empty before the first.
  std::vector<float>& velocity() { return velocity_; }

 private:
  double rate_;
  double momentum_;
  std::vector<float> velocity_;  // per parameter, in the direction of its change
};

}  // namespace fairlead
