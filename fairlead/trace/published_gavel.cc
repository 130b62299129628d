#include "fairlead/trace/published_gavel.h"

#include "fairlead/base/python_random.h"
#include "fairlead/trace/gavel_workload.h"

#include <cmath>
#include <iterator>

namespace fairlead {
namespace {

constexpr double kHourMs = 3'600'000;
constexpr double kHighPart = 0.2;
constexpr std::uint64_t kSeedMax = 0xffff'ffff - 3;

// The simulator's table of May 2020, in its order: jobs are drawn by position.
constexpr std::string_view kModels[] = {
    "ResNet-18 (batch size 16)",
    "ResNet-18 (batch size 32)",
    "ResNet-18 (batch size 64)",
    "ResNet-18 (batch size 128)",
    "ResNet-18 (batch size 256)",
    "ResNet-50 (batch size 16)",
    "ResNet-50 (batch size 32)",
    "ResNet-50 (batch size 64)",
    "ResNet-50 (batch size 128)",
    "Transformer (batch size 16)",
    "Transformer (batch size 32)",
    "Transformer (batch size 64)",
    "Transformer (batch size 128)",
    "Transformer (batch size 256)",
    "A3C",
    "LM (batch size 5)",
    "LM (batch size 10)",
    "LM (batch size 20)",
    "LM (batch size 40)",
    "LM (batch size 80)",
    "Recommendation (batch size 512)",
    "Recommendation (batch size 1024)",
    "Recommendation (batch size 2048)",
    "Recommendation (batch size 4096)",
    "Recommendation (batch size 8192)",
    "CycleGAN",
};

// random.uniform.
double uniform(PythonRandom& random, double from, double to) {
  return from + (to - from) * random.uniform();
}

std::int64_t draw_gang(PythonRandom& random, const std::vector<GangShare>& gangs) {
  double sum = 0;
  for (const GangShare& gang : gangs) sum += gang.weight;
  double left = random.uniform() * sum;
  for (const GangShare& gang : gangs) {
    if (left < gang.weight) return gang.gpus;
    left -= gang.weight;
  }
  return gangs.back().gpus;
}

Duration draw_duration(PythonRandom& random) {
  const bool is_long = random.uniform() >= 0.8;
  const double exponent = is_long ? uniform(random, 3, 4) : uniform(random, 1.5, 3);
  return {std::llround(60'000 * std::pow(10, exponent))};
}

std::string_view draw_model(PythonRandom& random, std::int64_t gpus) {
  std::string_view model;
  do {
    model = kModels[random.below(std::size(kModels))];
  } while (gpus > 1 && !gavel_distributes(model));
  return model;
}

// In the order of the simulator's draws.
JobRow draw_job(PythonRandom& random, const PublishedGavel& published) {
  JobRow row;
  row.gpus = draw_gang(random, published.stream.gangs);
  row.duration = draw_duration(random);
  row.model = draw_model(random, row.gpus);
  if (published.priorities && random.uniform() <= kHighPart) {
    row.user = "high";
    row.tickets = kHighPriority;
  }
  return row;
}

}  // namespace

Result<Workload> generate_published_gavel(const PublishedGavel& published) {
  const JobStream& stream = published.stream;
  FL_TRY(check_stream(stream));
  if (stream.seed > kSeedMax) {
    return input_error("a seed of Gavel's simulator is at most {}: {}", kSeedMax, stream.seed);
  }
  const auto seed = static_cast<std::uint32_t>(stream.seed);
  PythonRandom jobs(seed + 2);
  PythonRandom gaps(seed + 3);
  WorkloadBuilder builder(fmt::format("gavel-{}", seed), Reading::kStrict);
  double submit_ms = 0;
  for (std::int64_t i = 1; i <= stream.jobs; ++i) {
    JobRow row = draw_job(jobs, published);
    const std::string id = fmt::format("job-{}", i);
    row.id = id;
    row.submit = {std::llround(submit_ms)};
    row.gpu_type = "V100";
    FL_TRY(builder.add(row, Where("drawn", i)));
    if (stream.jobs_per_hour > 0) {
      submit_ms -= std::log(1 - gaps.uniform()) * kHourMs / stream.jobs_per_hour;
    }
  }
  return builder.finish();
}

}  // namespace fairlead
