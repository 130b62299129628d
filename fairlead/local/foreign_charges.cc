#include "fairlead/local/foreign_charges.h"

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

// Chosen: few records in the journal, and little is forgiven when the daemon starts again.
constexpr Duration kSum = seconds(60);
// No look shows what happened in a longer time.
constexpr Duration kLongest = seconds(60);

}  // namespace

std::vector<ForeignCharges::Charge> ForeignCharges::look(const Found& found, Time now) {
  const Duration since =
      looked_at_ == Time::never() ? Duration{} : std::min(now - looked_at_, kLongest);
  looked_at_ = now;
  for (const auto& [of, gpus] : found) {
    Sum& sum = sums_.try_emplace(of, Sum{.since = now - since}).first->second;
    sum.attained += occupancy(since, static_cast<std::uint32_t>(std::popcount(gpus)));
  }
  std::vector<Charge> due;
  std::erase_if(sums_, [&](const auto& entry) {
    const auto& [of, sum] = entry;
    if (found.contains(of) && now - sum.since < kSum) return false;
    if (sum.attained > GpuTime{}) due.push_back({of.first, of.second, sum.attained});
    return true;
  });
  return due;
}

}  // namespace fairlead
