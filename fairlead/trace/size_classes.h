// A synthetic workload of jobs in classes by size, as in Hadar's evaluation (Sultana et al., IPDPS 2024): small,
// medium, large and extra large by GPU-hours, each class with its own models.
#pragma once

#include "fairlead/trace/job_stream.h"

#include <string>
#include <vector>

namespace fairlead {

struct SizeClass {
  std::string name;  // jobs are called after it: "small-1"
  double weight = 1;
  // Uniform between these, on the run's reference GPU type; a gang of g GPUs takes 1/g of these hours.
  double gpu_hours_min = 1;
  double gpu_hours_max = 1;
  std::vector<std::string> models;  // equally likely; none: jobs without a model
};

struct ClassOptions {
  JobStream stream;
  std::int64_t users = 0;  // by turns, "user-1" first; 0: one without a name
  std::vector<SizeClass> classes;
};

// Errors: an option out of its range.
Result<Workload> generate_classes(const ClassOptions& options);

}  // namespace fairlead
