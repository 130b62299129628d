#include "fairlead/trace/job_stream.h"

#include <cmath>

namespace fairlead {
namespace {

constexpr double kHourMs = 3'600'000;

}  // namespace

Status check_stream(const JobStream& stream) {
  if (stream.jobs < 1 || stream.jobs > 10'000'000)
    return input_error("jobs must be from 1 to 10000000: {}", stream.jobs);
  const bool at_once = stream.jobs_per_hour == 0;
  if (!at_once && !(stream.jobs_per_hour >= 0.001 && stream.jobs_per_hour <= 1e9))
    return input_error("jobs per hour must be 0 or from 0.001 to 1000000000: {}",
                       stream.jobs_per_hour);
  if (!weights_fit(stream.gangs))
    return input_error("weights of gangs must not be negative or all zero");
  for (const GangShare& gang : stream.gangs) {
    if (gang.gpus < 1 || gang.gpus > kJobGpusMax)
      return input_error("gang size must be from 1 to {}: {}", kJobGpusMax, gang.gpus);
  }
  return {};
}

Result<Workload> draw_jobs(const JobStream& stream, std::string_view gpu_type,
                           const ShapeDraw& draw) {
  FL_TRY(check_stream(stream));
  // One stream of random numbers per purpose: at another rate the same jobs come at other times.
  const Rng root(stream.seed);
  Rng gaps = root.split(1);
  Rng gangs = root.split(2);
  Rng shapes = root.split(3);
  std::vector<double> gang_weights;
  for (const GangShare& gang : stream.gangs) gang_weights.push_back(gang.weight);
  WorkloadBuilder builder(fmt::format("drawn-{}", stream.seed), Reading::kStrict);
  double submit_ms = 0;
  for (std::int64_t i = 1; i <= stream.jobs; ++i) {
    const std::int64_t gpus = stream.gangs[gangs.weighted(gang_weights)].gpus;
    const JobShape shape = draw(gpus, shapes);
    const std::string id = fmt::format("{}-{}", shape.kind, i);
    FL_TRY(builder.add({.id = id,
                        .user = shape.user,
                        .model = shape.model,
                        .gpus = gpus,
                        .submit = {std::llround(submit_ms)},
                        .duration = shape.duration,
                        .gpu_type = gpu_type},
                       Where("drawn", i)));
    if (stream.jobs_per_hour > 0) submit_ms += gaps.exponential(kHourMs / stream.jobs_per_hour);
  }
  return builder.finish();
}

}  // namespace fairlead
