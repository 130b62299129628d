#include "fairlead/policy/fairlead/sizes.h"

#include <algorithm>

namespace fairlead {

void Sizes::choose(const Jobs& jobs, std::uint32_t gpus, const Speeds& speeds,
                   std::span<HadarBidder> bidders) {
  const bool any_elastic = std::ranges::any_of(bidders, [&](const HadarBidder& bidder) {
    return jobs.gpus_min[bidder.job] < jobs.gpus_max[bidder.job];
  });
  if (!any_elastic) return;
  steps_.clear();
  by_gain_.clear();
  for (std::uint32_t i = 0; i < bidders.size(); ++i) {
    const std::span<const Size> sizes = sizes_of(jobs, bidders[i], gpus, speeds);
    if (sizes.empty()) continue;
    bidders[i].gpus = sizes.front().gpus;
    add_steps(sizes, bidders[i].weight * jobs.gpus[bidders[i].job], i);
  }
  while (gpus > 0) {
    const std::span<const KeyOrder::Row> best =
        by_gain_.next(gpus);  // each takes a GPU, or is left out
    if (best.empty()) return;
    for (const KeyOrder::Row& at : best) {
      const Step& step = steps_[at.row];
      std::uint32_t& size = bidders[step.bidder].gpus;
      const bool is_next = step.from == 0 || size == step.from;
      if (!is_next || step.to - step.from > gpus) continue;
      size = step.to;
      gpus -= step.to - step.from;
    }
  }
}

std::span<const Sizes::Size> Sizes::sizes_of(const Jobs& jobs, const HadarBidder& bidder,
                                             std::uint32_t gpus_max, const Speeds& speeds) {
  const JobId job = bidder.job;
  if (bidder.kind >= hulls_.size()) hulls_.resize(std::size_t{bidder.kind} + 1);
  Hull& hull = hulls_[bidder.kind];
  const std::uint32_t most = std::min(jobs.gpus_max[job], gpus_max);
  if (hull.most != most || hull.revision != speeds.revision) {
    hull.revision = speeds.revision;
    hull.most = most;
    find_sizes(jobs, job, most, speeds, hull.sizes);
  }
  return hull.sizes;
}

// Finds the upper hull of speed by size.
void Sizes::find_sizes(const Jobs& jobs, JobId job, std::uint32_t most, const Speeds& speeds,
                       std::vector<Size>& sizes) {
  sizes.clear();
  const auto gain = [](Size from, Size to) {
    return (to.speed - from.speed) / (to.gpus - from.gpus);
  };
  const auto add = [&](std::uint32_t gpus) {
    const Size size{gpus, speeds.speed_of(job, gpus)};
    if (!(size.speed > (sizes.empty() ? 0 : sizes.back().speed))) return;
    const auto before = [&] { return sizes.size() > 1 ? sizes[sizes.size() - 2] : Size(); };
    while (!sizes.empty() && gain(sizes.back(), size) > gain(before(), sizes.back())) {
      sizes.pop_back();
    }
    sizes.push_back(size);
  };
  const std::uint32_t task = jobs.task_gpus[job];
  for (std::uint32_t gpus = jobs.gpus_min[job]; gpus <= most; gpus += task) add(gpus);
}

void Sizes::add_steps(std::span<const Size> sizes, double weight, std::uint32_t bidder) {
  Size from;
  for (Size to : sizes) {
    by_gain_.add(falling_key(weight * (to.speed - from.speed) / (to.gpus - from.gpus)));
    steps_.push_back({.bidder = bidder, .from = from.gpus, .to = to.gpus});
    from = to;
  }
}

}  // namespace fairlead
