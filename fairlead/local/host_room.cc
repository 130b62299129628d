#include "fairlead/local/host_room.h"

namespace fairlead {

void HostRoom::add(JobId job, std::uint32_t memory_mb) {
  if (memory_mb > 0) needs_mb_[job] = memory_mb;
}

void HostRoom::remove(JobId job) { needs_mb_.erase(job); }

void HostRoom::come(JobId job) {
  const auto need = needs_mb_.find(job);
  if (need != needs_mb_.end() && held_mb_.insert(*need).second) all_held_mb_ += need->second;
}

void HostRoom::leave(JobId job) {
  const auto held = held_mb_.find(job);
  if (held == held_mb_.end()) return;
  all_held_mb_ -= held->second;
  held_mb_.erase(held);
}

bool HostRoom::fits(JobId job) const {
  const auto need = needs_mb_.find(job);
  if (need == needs_mb_.end() || total_mb_ == 0) return true;
  return held_mb_.contains(job) || all_held_mb_ + need->second <= total_mb_;
}

void HostRoom::update(const std::function<bool(JobId)>& is_bound,
                      StartConditions& conditions) const {
  for (const auto& [job, need] : needs_mb_)
    conditions.set_has_room(job, StartConditions::Room::kHost, is_bound(job) || fits(job));
}

}  // namespace fairlead
