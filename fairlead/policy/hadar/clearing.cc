#include "fairlead/policy/hadar/clearing.h"

#include <algorithm>
#include <limits>

namespace fairlead {
namespace {

// Passes over all types' prices: chosen; later passes move them little.
constexpr int kPasses = 5;

}  // namespace

void HadarClearing::fit(const Cluster& cluster, std::span<const HadarBid> bids,
                        const HadarFree& free) {
  prices_.assign(cluster.type_names.size(), 0);
  best_.clear();
  for (const HadarBid& bid : bids) {
    for (GpuTypeId type : ids<GpuTypeId>(prices_.size())) best_.push_back(bid.best_on(type));
  }
  // A price depends on the prices of the other types alone.
  const int passes = prices_.size() == 1 ? 1 : kPasses;
  for (int pass = 0; pass < passes; ++pass) {
    last_prices_ = prices_;
    for (GpuTypeId type : ids<GpuTypeId>(prices_.size())) {
      prices_[type.row()] = clear(cluster, bids, type, free.of_type[type]);
    }
    if (prices_ == last_prices_) break;  // more passes would find the same
  }
  surplus_.resize(bids.size());
  for (std::size_t i = 0; i < bids.size(); ++i) surplus_[i] = find_surplus(cluster, bids, i);
}

// Returns the price of one type, given the prices of the others.
double HadarClearing::clear(const Cluster& cluster, std::span<const HadarBid> bids, GpuTypeId type,
                            std::uint32_t gpus) {
  prices_[type.row()] = std::numeric_limits<double>::infinity();
  offers_.clear();
  const std::size_t types = prices_.size();
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const double best = best_[i * types + type.row()];
    if (!(best > 0)) continue;  // it cannot run there
    const double without = std::max(0.0, find_surplus(cluster, bids, i));
    const double offer = (best - without) / bids[i].gpus;
    if (offer > 0) offers_.emplace_back(offer, bids[i].gpus);
  }
  // The highest come first. Only the winners are put in order.
  std::ranges::make_heap(offers_);
  while (!offers_.empty()) {
    const auto [offer, wanted] = offers_.front();
    if (wanted > gpus) return offer;
    gpus -= wanted;
    std::ranges::pop_heap(offers_);
    offers_.pop_back();
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

double HadarClearing::find_surplus(const Cluster& cluster, std::span<const HadarBid> bids,
                                   std::size_t bid) const {
  const HadarBid& asked = bids[bid];
  const std::size_t types = prices_.size();
  // A mix gains no more than a gang of the cheapest of its types would.
  double surplus = -std::numeric_limits<double>::infinity();
  for (std::size_t type = 0; type < types; ++type) {
    surplus = std::max(surplus, best_[bid * types + type] - asked.gpus * prices_[type]);
  }
  if (asked.present.empty()) return surplus;
  return std::max(surplus, asked.present_worth - cost(cluster, asked.present));
}

}  // namespace fairlead
