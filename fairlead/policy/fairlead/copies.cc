#include "fairlead/policy/fairlead/copies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace fairlead {
namespace {

constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();

std::uint32_t limit(std::uint32_t most) { return most == 0 ? kAnyNumber : most; }

// The n-th copy ends the job sooner by left_s x (1 / (n - 1) - 1 / n).
std::uint32_t worth_a_switch(double left_s, double switch_s) {
  const double copies = (1 + std::sqrt(1 + 4 * left_s / switch_s)) / 2;
  return copies < kAnyNumber ? static_cast<std::uint32_t>(copies) : kAnyNumber;
}

}  // namespace

std::uint32_t Copies::wanted(const View& view, JobId job, double left_s, bool may_grow) {
  const std::uint32_t most =
      std::min(limit(options_.most), view.jobs.extras_of(job).most_copies(view.cluster.nodes()));
  const bool is_elastic = view.jobs.gpus_min[job] < view.jobs.gpus_max[job];
  if (most == 1 || is_elastic) return 1;
  const bool runs = view.jobs.state[job] == JobState::kRunning;
  const std::uint32_t present = runs ? copies_of(view.jobs.last_gang(job)) : 1;
  if (!may_grow) return present;
  const std::uint32_t useful = worth_a_switch(left_s, to_seconds(options_.switch_cost));
  return std::max(1U, std::min({most, nodes_for(view, job), std::max(present, useful)}));
}

std::uint32_t Copies::nodes_for(const View& view, JobId job) {
  if (nodes_.empty()) {
    nodes_.resize(view.cluster.type_names.size());
    for (GpuTypeId type : view.cluster.node_type) ++nodes_[type];
  }
  std::uint32_t nodes = 0;
  for (GpuTypeId type : ids<GpuTypeId>(nodes_.size())) {
    const bool can_run = (view.jobs.types[job] & type_bit(type)) != 0;
    const bool fits = view.jobs.gpus[job] <= view.cluster.type_node_gpus_max[type];
    if (can_run && fits) nodes += nodes_[type];
  }
  return nodes;
}

void Copies::offer(const HadarBidder& bidder, std::uint32_t copy, double weight) {
  offers_.push_back({.weight = weight, .copy = copy, .bidder = &bidder});
}

void Copies::add(std::uint32_t gpus, std::vector<HadarBidder>& bidders) {
  const auto is_worse = [](const Offer& a, const Offer& b) {
    if (a.weight != b.weight) return a.weight < b.weight;
    return std::tuple(a.bidder->job, a.copy) > std::tuple(b.bidder->job, b.copy);
  };
  added_.clear();
  std::ranges::make_heap(offers_, is_worse);
  while (!offers_.empty()) {
    std::ranges::pop_heap(offers_, is_worse);
    const Offer offer = offers_.back();
    offers_.pop_back();
    HadarBidder copy = *offer.bidder;
    if (copy.gpus > gpus) break;
    gpus -= copy.gpus;
    if (offer.copy == 0) continue;
    copy.copy = offer.copy;
    copy.weight = offer.weight;
    copy.kept_weight = 0;
    added_.push_back(copy);
  }
  bidders.insert(bidders.end(), added_.begin(), added_.end());
}

}  // namespace fairlead
