#include "fairlead/local/gpu_memory_book.h"

#include <algorithm>

namespace fairlead {

void GpuMemoryBook::add(JobId job, std::span<const std::uint32_t> gpus, std::uint32_t stated_mb) {
  for (const std::uint32_t gpu : gpus) on_[gpu][job] = stated_mb;
}

void GpuMemoryBook::remove(JobId job) {
  for (auto& jobs : on_) jobs.erase(job);
}

std::vector<JobId> GpuMemoryBook::jobs_on(std::uint32_t gpu) const {
  std::vector<JobId> jobs;
  for (const auto& [job, stated_mb] : on_[gpu]) jobs.push_back(job);
  std::ranges::reverse(jobs);
  return jobs;
}

bool GpuMemoryBook::fits(std::uint32_t gpu, JobId job, std::uint32_t need_mb,
                         const std::function<bool(JobId)>& is_gone) const {
  const GpuMemory now = gpu < report_.size() ? report_[gpu] : GpuMemory();
  if (now.total_mb == 0 || need_mb == 0) return true;
  std::uint64_t all_mb = 0;    // stated by the jobs on the GPU
  std::uint64_t stays_mb = 0;  // the part that stays there
  bool has_unstated = false;
  for (const auto& [other, stated_mb] : on_[gpu]) {
    all_mb += stated_mb;
    if (other == job || is_gone(other)) continue;
    stays_mb += stated_mb;
    has_unstated = has_unstated || stated_mb == 0;
  }
  if (has_unstated && now.used_mb > all_mb) stays_mb += now.used_mb - all_mb;
  return stays_mb + need_mb <= now.total_mb;
}

}  // namespace fairlead
