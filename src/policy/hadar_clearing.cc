#include "policy/hadar_clearing.h"

#include <algorithm>

namespace fairlead {
namespace {

// How often each type's price is found anew: chosen, later passes move it little.
constexpr int kPasses = 5;

}  // namespace

void HadarClearing::fit(const Cluster& cluster, std::span<const HadarBid> bids,
                        const HadarFree& free) {
  prices_.assign(cluster.type_names.size(), 0);
  for (int pass = 0; pass < kPasses; ++pass) {
    for (GpuTypeId type : ids<GpuTypeId>(prices_.size())) {
      prices_[type.row()] = clear(cluster, bids, type, free.of_type[type]);
    }
  }
}

// The price of one type, the others' being given.
double HadarClearing::clear(const Cluster& cluster, std::span<const HadarBid> bids, GpuTypeId type,
                            std::uint32_t gpus) {
  prices_[type.row()] = std::numeric_limits<double>::infinity();
  offers_.clear();
  for (const HadarBid& bid : bids) {
    const double offer = (bid.best_on(type) - gain(cluster, bid)) / bid.gpus;
    if (offer > 0) offers_.emplace_back(offer, bid.gpus);
  }
  std::ranges::sort(offers_, std::greater());
  for (const auto& [offer, wanted] : offers_) {
    if (wanted > gpus) return offer;
    gpus -= wanted;
  }
  return 0;
}

double HadarClearing::cost(const Cluster& cluster, Gang gang) const {
  double cost = 0;
  for (Slice slice : gang) cost += slice.gpus * price(cluster.node_type[slice.node]);
  return cost;
}

double HadarClearing::cost(const HadarFree& free) const {
  double cost = 0;
  for (GpuTypeId type : ids<GpuTypeId>(prices_.size())) cost += free.of_type[type] * price(type);
  return cost;
}

double HadarClearing::gain(const Cluster& cluster, const HadarBid& bid) const {
  // A mix gains no more than a gang of the cheapest of its types would.
  double gain = 0;
  for (GpuTypeId type : ids<GpuTypeId>(prices_.size())) {
    gain = std::max(gain, bid.best_on(type) - bid.gpus * price(type));
  }
  if (bid.held.empty()) return gain;
  return std::max(gain, bid.held_worth - cost(cluster, bid.held));
}

}  // namespace fairlead
