#include "fairlead/input/models_file.h"

#include "fairlead/base/rng.h"
#include "fairlead/input/embedded.h"
#include "fairlead/input/yaml_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace fairlead {
namespace {

constexpr std::uint64_t kModelStream = 1;  // stream of the random numbers that draw models

ModelId number_model(Workload& workload, const std::string& name) {
  const auto found = std::ranges::find(workload.models, name);
  if (found == workload.models.end()) return workload.models.push_back(name);
  return ModelId(static_cast<std::size_t>(found - workload.models.begin()));
}

}  // namespace

SpeedTable builtin_models() {
  Result<SpeedTable> slides = load_models("slides");
  FL_CHECK(slides.has_value(), "{}", slides.error().message);
  return *std::move(slides);
}

std::vector<std::string> model_tables() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_models()) names.emplace_back(file.name);
  return names;
}

Result<SpeedTable> load_models(std::string_view spec) {
  for (const EmbeddedFile& file : embedded_models()) {
    if (file.name == spec) return parse_models_yaml(file.text, file.name);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) {
    return input_error("models come from a built-in table ({}) or a file, and this is neither: {}",
                       fmt::join(model_tables(), ", "), spec);
  }
  FL_TRY_ASSIGN(source, ByteSource::open(std::string(spec)));
  FL_TRY_ASSIGN(text, yaml_text(source));
  if (is_gavel_table(text)) return read_gavel_table(source);
  return is_measured_table(text) ? read_measured_table(source) : parse_models_yaml(text, spec);
}

void draw_models(Workload& workload, const SpeedTable& table, std::uint64_t seed) {
  std::vector<double> weights;
  for (const ModelProfile& model : table.models) weights.push_back(model.weight);
  if (std::ranges::none_of(weights, [](double weight) { return weight > 0; })) return;
  Rng rng = Rng(seed).split(kModelStream);
  std::vector<ModelId> numbers(table.models.size());
  for (ModelId& model : workload.jobs.model) {
    if (!model.is_none()) continue;
    const std::size_t drawn = rng.weighted(weights);
    if (numbers[drawn].is_none()) numbers[drawn] = number_model(workload, table.models[drawn].name);
    model = numbers[drawn];
  }
}

}  // namespace fairlead
