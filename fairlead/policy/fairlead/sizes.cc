#include "fairlead/policy/fairlead/sizes.h"

#include <algorithm>

namespace fairlead {

void Sizes::choose(const Jobs& jobs, std::uint32_t gpus, const SpeedOf& speed_of,
                   std::span<HadarBidder> bidders) {
  const bool any_elastic = std::ranges::any_of(bidders, [&](const HadarBidder& bidder) {
    return jobs.gpus_min[bidder.job] < jobs.gpus_max[bidder.job];
  });
  if (!any_elastic) return;
  steps_.clear();
  for (std::uint32_t i = 0; i < bidders.size(); ++i) {
    find_sizes(jobs, bidders[i].job, gpus, speed_of);
    if (sizes_.empty()) continue;
    bidders[i].gpus = sizes_.front().gpus;
    add_steps(bidders[i].weight * jobs.gpus[bidders[i].job], i);
  }
  std::ranges::sort(steps_, [](const Step& a, const Step& b) {
    if (a.gain != b.gain) return a.gain > b.gain;
    return a.bidder != b.bidder ? a.bidder < b.bidder : a.from < b.from;
  });
  for (const Step& step : steps_) {
    std::uint32_t& size = bidders[step.bidder].gpus;
    const bool is_next = step.from == 0 || size == step.from;
    if (!is_next || step.to - step.from > gpus) continue;
    size = step.to;
    gpus -= step.to - step.from;
  }
}

// Finds the upper hull of speed by size.
void Sizes::find_sizes(const Jobs& jobs, JobId job, std::uint32_t gpus_max,
                       const SpeedOf& speed_of) {
  sizes_.clear();
  const auto gain = [](Size from, Size to) {
    return (to.speed - from.speed) / (to.gpus - from.gpus);
  };
  const auto add = [&](std::uint32_t gpus) {
    const Size size{gpus, speed_of(job, gpus)};
    if (!(size.speed > (sizes_.empty() ? 0 : sizes_.back().speed))) return;
    const auto before = [&] { return sizes_.size() > 1 ? sizes_[sizes_.size() - 2] : Size(); };
    while (!sizes_.empty() && gain(sizes_.back(), size) > gain(before(), sizes_.back())) {
      sizes_.pop_back();
    }
    sizes_.push_back(size);
  };
  const std::uint32_t task = jobs.task_gpus[job];
  const std::uint32_t most = std::min(jobs.gpus_max[job], gpus_max);
  for (std::uint32_t gpus = jobs.gpus_min[job]; gpus <= most; gpus += task) add(gpus);
}

void Sizes::add_steps(double weight, std::uint32_t bidder) {
  Size from;
  for (Size to : sizes_) {
    const double gain = weight * (to.speed - from.speed) / (to.gpus - from.gpus);
    steps_.push_back({.gain = gain, .bidder = bidder, .from = from.gpus, .to = to.gpus});
    from = to;
  }
}

}  // namespace fairlead
