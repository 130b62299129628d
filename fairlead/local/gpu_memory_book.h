// The memory of the GPUs that jobs share by turns. A suspended job keeps its memory on its GPUs, so jobs that take turns
// there must fit in together.
//
// Jobs count with the memory that they state. The jobs on a GPU that state none count together, with the part of the
// driver's report beyond the statements of the others. Source: ours.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace fairlead {

class GpuMemoryBook {
 public:
  // `gpus`: number of GPUs of the machine.
  explicit GpuMemoryBook(std::size_t gpus) : on_(gpus) {}

  // Sets the driver's report, by GPU; empty: it reports nothing, and everything fits.
  void set_report(std::span<const GpuMemory> report) {
    report_.assign(report.begin(), report.end());
  }
  // Notes that a job has processes on the GPUs, until remove(). `stated_mb`: the memory that it takes of each; 0: not
  // stated.
  void add(JobId job, std::span<const std::uint32_t> gpus, std::uint32_t stated_mb);
  void remove(JobId job);

  // Returns the jobs with processes on the GPU, the latest first.
  std::vector<JobId> jobs_on(std::uint32_t gpu) const;
  // Returns whether `need_mb` of the job fit on the GPU beside the other jobs there, except the jobs that `is_gone`
  // accepts. True: the memory of the GPU is not known. O(jobs on it).
  bool fits(std::uint32_t gpu, JobId job, std::uint32_t need_mb,
            const std::function<bool(JobId)>& is_gone) const;

 private:
  std::vector<std::map<JobId, std::uint32_t>> on_;  // by GPU: what each job states
  std::vector<GpuMemory> report_;
};

}  // namespace fairlead
