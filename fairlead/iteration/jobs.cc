#include "fairlead/iteration/jobs.h"

#include "fairlead/base/check.h"
#include "fairlead/base/rng.h"

namespace fairlead {

Result<std::vector<IterationJob>> draw_iteration_jobs(const IterationOptions& options,
                                                      std::uint64_t seed) {
  if (options.models.empty()) return input_error("jobs need at least one model");
  FL_CHECK(options.submit_span_ms > 0 && options.iterations_min <= options.iterations_max);
  std::int64_t weights = 0;
  for (const auto& [gpus, weight] : options.gangs) weights += weight;
  if (weights == 0 || options.jobs % weights != 0) {
    return input_error("the number of jobs must be a multiple of the weights' sum {}: {}", weights,
                       options.jobs);
  }
  Rng rng(seed);
  const auto uniform = [&rng](std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least) + 1));
  };
  std::vector<IterationJob> jobs;
  for (const auto& [gpus, weight] : options.gangs) {
    for (std::int64_t i = 0; i < options.jobs / weights * weight; ++i) {
      IterationJob job{.model = options.models[rng.below(options.models.size())],
                       .gpus = static_cast<std::size_t>(gpus)};
      job.iterations = uniform(options.iterations_min, options.iterations_max);
      job.submit_ns = uniform(0, options.submit_span_ms - 1) * kNsPerMs;
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

}  // namespace fairlead
