#include "fairlead/trace/gavel_workload.h"

#include "fairlead/input/models_file.h"

#include <cmath>

namespace fairlead {
namespace {

constexpr double kShortPart = 0.8;

Duration draw_duration(Rng& rng) {
  const bool is_short = rng.uniform() < kShortPart;
  const double exponent = is_short ? 1.5 + 1.5 * rng.uniform() : 3 + rng.uniform();
  return {std::llround(60'000 * std::pow(10, exponent))};
}

}  // namespace

bool gavel_distributes(std::string_view model) {
  return !model.starts_with("Recommendation") && model != "A3C" && model != "CycleGAN";
}

Result<Workload> generate_gavel(const JobStream& stream) {
  FL_TRY_ASSIGN(table, load_models("gavel"));
  return draw_jobs(stream, "V100", [&table](std::int64_t gpus, Rng& rng) {
    JobShape shape;
    do {
      shape.model = table.models[rng.below(table.models.size())].name;
    } while (gpus > 1 && !gavel_distributes(shape.model));
    shape.duration = draw_duration(rng);
    return shape;
  });
}

}  // namespace fairlead
