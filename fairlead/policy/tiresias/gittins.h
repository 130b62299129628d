// The Gittins index of a job, from the service that earlier jobs needed.
//
// Tiresias section 3.2.2, for jobs that were served `a` GPU-seconds so far. P is the share of
// earlier jobs that finish within the next `quantum` GPU-seconds; E is the average cost of serving
// them for that long. The larger P / E, the earlier the job should run. The artefact rounds P to 5
// and the index to 4 decimals and divides E down to whole GPU-seconds. This code does the same,
// because rounding makes ties.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace fairlead {

class GittinsIndex {
 public:
  // `samples`: GPU-seconds that jobs needed in total. REQUIRES: samples is not empty, every sample
  // is positive, quantum > 0. O(samples log samples).
  GittinsIndex(std::vector<std::int64_t> samples, std::int64_t quantum_gpu_s);

  // In ten-thousandths, 0..kMax; the largest runs first. O(log samples).
  std::int64_t of(GpuTime served) const;

  static constexpr std::int64_t kMax = 10'000'000'000;

 private:
  std::vector<std::int64_t> samples_;
  std::vector<std::int64_t> index_;  // beside samples_
};

// Quantiles of the distribution that Tiresias ships (yarn-gput1000.csv), for want of another.
std::span<const std::int64_t> builtin_service_samples();

// Reads one number of GPU-seconds per line, below an optional heading. Errors name file and line.
Result<std::vector<std::int64_t>> read_service_samples(const std::filesystem::path& path);

}  // namespace fairlead
