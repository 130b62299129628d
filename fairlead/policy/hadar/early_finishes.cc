#include "fairlead/policy/hadar/early_finishes.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

// Chosen by mean completion times (decision 0074). With 1, jobs of one GPU pass wide gangs that have less work left.
constexpr double kOwnPart = 0.5;

}  // namespace

void EarlyFinishes::clear() {
  added_.clear();
  ordered_.clear();
  by_area_.clear();
}

void EarlyFinishes::add(HadarBidder& bidder, std::uint32_t gang, const JobKinds::Speeds& speeds,
                        double left_s) {
  const bool can_run = speeds.mean > 0;
  const double speed = can_run ? speeds.mean : 1;
  const double best = can_run ? speeds.best : 1;
  added_.push_back({.bidder = &bidder,
                    .gang = gang,
                    .speed = speed,
                    .left_s = left_s / speed,
                    .value = kOwnPart * speed / (best * gang)});
  by_area_.add(rising_key(added_.back().left_s * gang));
}

std::span<EarlyFinishes::Row> EarlyFinishes::order(std::uint32_t gpus) {
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return added_[a].bidder->job < added_[b].bidder->job;
  };
  auto behind = static_cast<double>(added_.size());
  double most = 0;
  for (const KeyOrder::Row& at : by_area_.rising(is_before)) {
    Row row = added_[at.row];
    row.value = std::hypot(row.value, behind / std::max(gpus, 1U));
    behind -= 1;
    most = std::max(most, row.value);
    ordered_.push_back(row);
  }
  for (Row& row : ordered_) row.value /= most;
  return ordered_;
}

}  // namespace fairlead
