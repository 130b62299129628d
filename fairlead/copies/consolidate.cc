#include "fairlead/copies/consolidate.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {

std::vector<std::uint64_t> split_steps(std::uint64_t steps, std::span<const double> speeds) {
  FL_CHECK(!speeds.empty() && std::ranges::all_of(speeds, [](double s) { return s > 0; }),
           "copies without speed");
  const double together = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::uint64_t> split;
  std::uint64_t left = steps;
  for (double speed : speeds) {
    const double due = std::floor(static_cast<double>(steps) * speed / together);
    split.push_back(std::min(left, static_cast<std::uint64_t>(due)));
    left -= split.back();
  }
  for (; left > 0; --left) {  // fewer than there are copies
    std::size_t next = 0;
    const auto end_with_one_more = [&](std::size_t copy) {
      return static_cast<double>(split[copy] + 1) / speeds[copy];
    };
    for (std::size_t copy = 1; copy < speeds.size(); ++copy) {
      if (end_with_one_more(copy) < end_with_one_more(next)) next = copy;
    }
    ++split[next];
  }
  return split;
}

void average(std::span<const std::span<const float>> copies, std::span<const std::uint64_t> steps,
             std::span<float> mean) {
  const std::uint64_t all = std::accumulate(steps.begin(), steps.end(), std::uint64_t{0});
  FL_CHECK(all > 0 && copies.size() == steps.size(), "{} copies that made no step", copies.size());
  std::ranges::fill(mean, 0.0F);
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    if (steps[copy] == 0) continue;
    FL_CHECK(copies[copy].size() == mean.size(), "copy {} has other parameters", copy);
    const auto part =
        static_cast<float>(static_cast<double>(steps[copy]) / static_cast<double>(all));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += part * copies[copy][i];
  }
}

void OuterMomentum::step(std::span<float> parameters, std::span<const float> mean) {
  velocity_.resize(parameters.size());
  const auto rate = static_cast<float>(rate_);
  const auto momentum = static_cast<float>(momentum_);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float change = mean[i] - parameters[i];
    velocity_[i] = momentum * velocity_[i] + change;
    parameters[i] += rate * (change + momentum * velocity_[i]);
  }
}

}  // namespace fairlead
