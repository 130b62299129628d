// What a round of copies on nodes of unequal speed comes to (HadarE, arXiv 2503.10918, whose abstract says
// that a tracker adds up steps and consolidates parameters; the rest is ours).
//
//   split    the steps of a round go to the copies by speed, so that all end together
//   average  the copies' parameters, weighted by the steps that each made, are what all begin the next round with
//   outer    what a round changed may be taken as a gradient, with a step and a momentum of its own
//            (DiLoCo, arXiv 2311.08105)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// Steps by copy, which add up to `steps`: of all such splits one whose last copy ends first.
// REQUIRES: speeds are above 0, and there is one. O(copies^2).
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
  // From the parameters that a round began with and the mean that it ended with, those that the
  // next begins with. O(parameters).
  void step(std::span<float> parameters, std::span<const float> mean);
  // What it remembers from round to round; empty before the first. Of as many numbers as there are
  // parameters.
  std::vector<float>& velocity() { return velocity_; }

 private:
  double rate_;
  double momentum_;
  std::vector<float> velocity_;  // of parameters, towards where they go
};

}  // namespace fairlead
