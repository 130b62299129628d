#include "fairlead/trace/size_classes.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

constexpr double kHourMs = 3'600'000;

Status check(const std::vector<SizeClass>& classes) {
  if (!weights_fit(classes))
    return input_error("weights of classes must not be negative or all zero");
  for (const SizeClass& one : classes) {
    if (one.name.empty()) return input_error("a class of jobs needs a name");
    if (!(one.gpu_hours_min > 0 && one.gpu_hours_max >= one.gpu_hours_min &&
          one.gpu_hours_max * kHourMs <= static_cast<double>(kMsMax)))
      return input_error("GPU-hours of a class must be above 0 and at most 100 years: {} to {}",
                         one.gpu_hours_min, one.gpu_hours_max);
  }
  return {};
}

Duration draw_duration(const SizeClass& one, std::int64_t gpus, Rng& rng) {
  const double gpu_hours =
      one.gpu_hours_min + (one.gpu_hours_max - one.gpu_hours_min) * rng.uniform();
  const double ms = gpu_hours * kHourMs / static_cast<double>(gpus);
  return {std::max<std::int64_t>(1, std::llround(ms))};
}

}  // namespace

Result<Workload> generate_classes(const ClassOptions& options) {
  const std::vector<SizeClass>& classes = options.classes;
  FL_TRY(check(classes));
  std::vector<double> weights;
  weights.reserve(classes.size());
  for (const SizeClass& one : classes) weights.push_back(one.weight);
  std::int64_t drawn = 0;
  return draw_jobs(options.stream, "", [&](std::int64_t gpus, Rng& rng) {
    const SizeClass& one = classes[rng.weighted(weights)];
    JobShape shape{.kind = one.name};
    if (!one.models.empty()) shape.model = one.models[rng.below(one.models.size())];
    shape.duration = draw_duration(one, gpus, rng);
    if (options.users > 0) shape.user = fmt::format("user-{}", drawn++ % options.users + 1);
    return shape;
  });
}

}  // namespace fairlead
