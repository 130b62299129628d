#include "fairlead/sim/limit_holds.h"

#include <algorithm>

namespace fairlead {

LimitHolds::LimitHolds(LimitedJobs jobs, IdVector<JobId, std::uint32_t> gpus_of)
    : jobs_(std::move(jobs)),
      gpus_of_(std::move(gpus_of)),
      room_(jobs_.limits, LimitRoom::Passing::kSmallOne),
      held_(jobs_.limits.size()) {}

bool LimitHolds::take(JobId job) { return !room_.take(gpus_of_[job], jobs_.of_job[job]); }

bool LimitHolds::arrive(JobId job) {
  if (take(job)) return true;
  for (const std::size_t limit : jobs_.of_job[job]) held_[limit].emplace(arrived_, job);
  ++arrived_;
  return false;
}

void LimitHolds::release(Place place) {
  for (const std::size_t limit : jobs_.of_job[place.second]) held_[limit].erase(place);
  released_.push_back(place.second);
}

const std::vector<JobId>& LimitHolds::end(JobId job) {
  const std::vector<std::size_t>& of = jobs_.of_job[job];
  room_.give_back(gpus_of_[job], of);
  released_.clear();
  candidates_.clear();
  for (const std::size_t limit : of)
    candidates_.insert(candidates_.end(), held_[limit].begin(), held_[limit].end());
  std::ranges::sort(candidates_);
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  for (const Place& place : candidates_) {
    if (std::ranges::none_of(of, [&](std::size_t limit) { return room_.has_room(limit); })) break;
    if (take(place.second)) release(place);
  }
  std::ranges::sort(released_);
  return released_;
}

}  // namespace fairlead
