#include "fairlead/local/gpu_room.h"

#include <algorithm>

namespace fairlead {
namespace {

// Chosen: the pause after a start that found no room. Meanwhile other GPUs may become free.
constexpr Duration kPause = seconds(60);

}  // namespace

void GpuRoom::add(JobId job, const Need& need) {
  if (need.memory_mb > 0) needs_[job] = need;
}

void GpuRoom::remove(JobId job) {
  needs_.erase(job);
  rests_until_.erase(job);
}

void GpuRoom::come(JobId job, std::span<const std::uint32_t> gpus) {
  memory_.add(job, gpus, need_mb(job));
}

std::uint32_t GpuRoom::need_mb(JobId job) const {
  const auto need = needs_.find(job);
  return need == needs_.end() ? 0 : need->second.memory_mb;
}

bool GpuRoom::fits(JobId job, std::span<const std::uint32_t> gpus) const {
  const std::uint32_t need = need_mb(job);
  return std::ranges::all_of(gpus, [&](std::uint32_t gpu) {
    return memory_.fits(gpu, job, need, [](JobId) { return false; });
  });
}

std::set<JobId> GpuRoom::leavers(Time now, JobId job, std::span<const std::uint32_t> gpus,
                                 const std::function<bool(JobId)>& may_leave) {
  const std::uint32_t need = need_mb(job);
  std::set<JobId> leavers;
  const auto is_gone = [&](JobId other) { return leavers.contains(other); };
  for (const std::uint32_t gpu : gpus) {
    for (const JobId other : memory_.jobs_on(gpu)) {
      if (memory_.fits(gpu, job, need, is_gone)) break;
      if (other != job && may_leave(other)) leavers.insert(other);
    }
    if (memory_.fits(gpu, job, need, is_gone)) continue;
    rests_until_[job] = now + kPause;
    return {};
  }
  return leavers;
}

// Returns whether the job fits, on as many GPUs of one type as it asks for, beside the jobs that would lose their work.
bool GpuRoom::has_room(JobId job, const Need& need) const {
  const auto is_gone = [&](JobId other) {
    return !tables_.jobs.is_here(other) || !tables_.jobs.keeps_no_work(other);
  };
  const Cluster& cluster = tables_.cluster;
  IdVector<GpuTypeId, std::uint32_t> count(cluster.type_names.size(), 0);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    const GpuTypeId type = cluster.node_type[node];
    if ((need.types & type_bit(type)) == 0) continue;
    for (std::uint32_t gpu = first_[node]; gpu < first_[NodeId(node.row() + 1)]; ++gpu) {
      if (memory_.fits(gpu, job, need.memory_mb, is_gone)) ++count[type];
    }
    if (count[type] >= need.gpus) return true;
  }
  return false;
}

void GpuRoom::update(Time now, const std::function<bool(JobId)>& is_bound,
                     StartConditions& conditions) {
  std::erase_if(rests_until_, [&](const auto& entry) { return entry.second <= now; });
  for (const auto& [job, need] : needs_) {
    const bool rests = rests_until_.contains(job);
    conditions.set_has_room(job, StartConditions::Room::kGpus,
                            is_bound(job) || (!rests && has_room(job, need)));
  }
}

Time GpuRoom::deadline() const {
  Time next = Time::never();
  for (const auto& [job, until] : rests_until_) next = std::min(next, until);
  return next;
}

}  // namespace fairlead
