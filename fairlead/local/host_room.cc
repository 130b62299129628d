#include "fairlead/local/host_room.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead {

using Room = StartConditions::Room;

void HostRoom::add(JobId job, const Need& need) {
  if (need.memory_mb == 0 && need.cpu_milli == 0) return;
  needs_[job] = need;
  without_gpus_ += need.has_gpus ? 0U : 1U;
  is_due_ = true;
}

void HostRoom::set_priority(JobId job, Priority priority) {
  const auto need = needs_.find(job);
  if (need == needs_.end()) return;
  need->second.priority = priority;
  is_due_ = true;
}

void HostRoom::remove(JobId job) {
  const auto need = needs_.find(job);
  if (need == needs_.end()) return;
  without_gpus_ -= need->second.has_gpus ? 0U : 1U;
  needs_.erase(need);
  is_due_ = true;
}

void HostRoom::come(JobId job) {
  const auto need = needs_.find(job);
  if (need == needs_.end() || need->second.memory_mb == 0) return;
  if (held_mb_.emplace(job, need->second.memory_mb).second) all_held_mb_ += need->second.memory_mb;
  is_due_ = true;
}

void HostRoom::leave(JobId job) {
  const auto held = held_mb_.find(job);
  if (held == held_mb_.end()) return;
  all_held_mb_ -= held->second;
  held_mb_.erase(held);
  is_due_ = true;
}

bool HostRoom::fits(JobId job) const {
  const auto need = needs_.find(job);
  if (need == needs_.end() || size_.memory_mb == 0) return true;
  return held_mb_.contains(job) || all_held_mb_ + need->second.memory_mb <= size_.memory_mb;
}

void HostRoom::update(const IsBound& is_bound, StartConditions& conditions) {
  std::uint32_t kept_mb = 0;  // the least memory that a job with GPUs waits for
  for (const auto& [job, need] : needs_) {
    if (!need.has_gpus || need.memory_mb == 0) continue;
    const bool has_room = is_bound(job) || fits(job);
    conditions.set_has_room(job, Room::kHost, has_room);
    if (!has_room && conditions.needs_only_the_machine(job))
      kept_mb = kept_mb == 0 ? need.memory_mb : std::min(kept_mb, need.memory_mb);
  }
  if (without_gpus_ > 0 && (is_due_ || conditions.is_due()))
    update_order(is_bound, kept_mb, conditions);
  is_due_ = false;
}

HostAmounts HostRoom::size() const {
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 2;
  return {.cpu_milli = size_.cpus == 0 ? kUnknown : std::int64_t{1000} * size_.cpus,
          .memory_mb = size_.memory_mb == 0 ? kUnknown : std::int64_t{size_.memory_mb}};
}

// Returns the amounts of jobs with GPUs and of suspended processes.
HostAmounts HostRoom::taken_by_others() const {
  HostAmounts taken;
  for (const JobId job : tables_.running.members()) {
    const auto need = needs_.find(job);
    if (need != needs_.end()) taken.cpu_milli += need->second.cpu_milli;
  }
  const Jobs& jobs = tables_.jobs;
  for (const auto& [job, held_mb] : held_mb_) {
    const bool runs = jobs.is_here(job) && jobs.state[job] == JobState::kRunning;
    const bool ends = !jobs.is_here(job) || (runs && !tables_.needs_gpus(job));
    if (!ends) taken.memory_mb += held_mb;
  }
  return taken;
}

std::vector<HostJob> HostRoom::ordered_jobs(const IsBound& is_bound,
                                            const StartConditions& conditions) const {
  std::vector<HostJob> ordered;
  for (const auto& [job, need] : needs_) {
    const bool is_new = !tables_.jobs.has(job);
    if (need.has_gpus || (!is_new && !tables_.jobs.is_here(job))) continue;
    // A job whose start is tried again keeps its place; one that has given its start back does not.
    const bool runs = !is_new && !is_held_open(tables_, job) &&
                      (tables_.jobs.state[job] != JobState::kRunning || is_bound(job));
    if (!runs && !conditions.needs_only_the_machine(job)) continue;
    ordered.push_back({.job = job,
                       .user = need.user,
                       .priority = need.priority,
                       .needs = {need.cpu_milli, held_mb_.contains(job) ? 0 : need.memory_mb},
                       .runs = runs});
  }
  return ordered;
}

void HostRoom::update_order(const IsBound& is_bound, std::uint32_t kept_mb,
                            StartConditions& conditions) {
  const HostAmounts all = size();
  const HostAmounts others = taken_by_others();
  HostAmounts without{all.cpu_milli - others.cpu_milli, all.memory_mb - others.memory_mb};
  HostAmounts free{without.cpu_milli, all.memory_mb - static_cast<std::int64_t>(all_held_mb_)};
  std::vector<HostJob> jobs = ordered_jobs(is_bound, conditions);
  for (const HostJob& job : jobs) {
    if (!job.runs) continue;
    free.cpu_milli -= job.needs.cpu_milli;
    free.memory_mb -= job.needs.memory_mb;  // it has not started yet
  }
  // Memory is kept only if the job with GPUs fits once jobs without GPUs have ended.
  if (kept_mb > 0 && kept_mb <= without.memory_mb) free.memory_mb = without.memory_mb = 0;
  const auto blocked = host_order(std::move(jobs), free, without);
  for (const auto& [job, need] : needs_) {
    if (need.has_gpus) continue;
    const auto block = blocked.find(job);
    for (const Room where : {Room::kHost, Room::kProcessors}) {
      const bool lacks =
          block != blocked.end() && block->second.is_memory == (where == Room::kHost);
      conditions.set_has_room(job, where, !lacks, lacks ? block->second.by : JobId());
    }
  }
}

}  // namespace fairlead
