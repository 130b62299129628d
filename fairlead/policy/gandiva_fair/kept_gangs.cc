#include "fairlead/policy/gandiva_fair/kept_gangs.h"

#include <algorithm>

namespace fairlead {
namespace {

// Returns the place of the size, or the one where it belongs.
auto place_of(auto& gangs, std::uint32_t gpus) {
  return std::ranges::lower_bound(gangs, gpus, {}, [](const auto& size) { return size.first; });
}

}  // namespace

void KeptGangs::resize(std::size_t users, std::size_t types) {
  gpus_.resize(users);
  pools_.resize(users, types);
}

void KeptGangs::add(UserId user, GpuTypeId type, std::uint32_t gpus) {
  Pool& pool = pools_(user, type);
  pool.gpus += gpus;
  ++pool.jobs;
  gpus_[user] += gpus;
  const auto at = place_of(pool.gangs, gpus);
  if (at != pool.gangs.end() && at->first == gpus) {
    ++at->second;
  } else {
    pool.gangs.insert(at, {gpus, 1});
  }
}

void KeptGangs::remove(UserId user, GpuTypeId type, std::uint32_t gpus) {
  Pool& pool = pools_(user, type);
  const auto at = place_of(pool.gangs, gpus);
  FL_CHECK(at != pool.gangs.end() && at->first == gpus && at->second > 0);
  --at->second;  // a known size keeps its place, so that it needs no allocation again
  pool.gpus -= gpus;
  --pool.jobs;
  gpus_[user] -= gpus;
}

std::uint32_t KeptGangs::largest(UserId user) const {
  std::uint32_t largest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(pools_.types())) {
    for (const auto& [gpus, count] : pools_(user, type).gangs) {
      if (count > 0) largest = std::max(largest, gpus);
    }
  }
  return largest;
}

double KeptGangs::level(UserId user, GpuTypeId type, double share) const {
  const Pool& pool = pools_(user, type);
  double level = 0;
  double left = share;
  std::int64_t jobs = pool.jobs;
  for (const auto& [gpus, count] : pool.gangs) {
    if (jobs == 0) break;
    level = left / static_cast<double>(jobs);
    if (level < gpus) break;
    level = gpus;
    left = std::max(0.0, left - static_cast<double>(gpus) * static_cast<double>(count));
    jobs -= count;
  }
  return level;
}

void KeptGangs::fields_of(Archive& archive, UserId user, GpuTypeId type) {
  Pool& pool = pools_(user, type);
  archive(pool.gpus, pool.jobs);
  // Sizes of which the user keeps no job are left out.
  auto kept = pool.gangs;
  std::erase_if(kept, [](const auto& size) { return size.second == 0; });
  archive(kept);
  if (archive.reads()) pool.gangs = std::move(kept);
}

}  // namespace fairlead
