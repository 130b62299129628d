// The table of GPU types; the schema is in models_file.h.

#include "fairlead/input/embedded.h"
#include "fairlead/input/gpu_power.h"
#include "fairlead/input/models_file.h"
#include "fairlead/input/yaml_reader.h"

namespace fairlead {
namespace {

constexpr RealBounds kFactorBounds = {1e-6, 1e6};
constexpr RealBounds kWattBounds = {0, 1e6};

Status check_keys(const YamlNode& root) { return root.expect_keys({"source", "types", "power"}); }

Result<GpuFactor> read_entry(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "factor", "source", "estimated"}));
  GpuFactor entry;
  FL_TRY_ASSIGN(name_node, map.get("name"));
  FL_TRY_ASSIGN(name, name_node.text());
  entry.gpu_type = std::move(name);
  FL_TRY_ASSIGN(factor_node, map.get("factor"));
  FL_TRY_ASSIGN(factor, factor_node.real(kFactorBounds));
  entry.factor = factor;
  if (const auto node = map.find("source")) {
    FL_TRY_ASSIGN(source, node->text());
    entry.source = std::move(source);
  }
  if (const auto node = map.find("estimated")) {
    FL_TRY_ASSIGN(estimated, node->text());
    entry.estimated = std::move(estimated);
  }
  return entry;
}

Result<GpuPower> read_power(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "busy_w", "idle_w", "source"}));
  GpuPower power;
  FL_TRY_ASSIGN(busy_node, map.get("busy_w"));
  FL_TRY_ASSIGN(busy_w, busy_node.real(kWattBounds));
  power.busy_w = busy_w;
  if (const auto node = map.find("idle_w")) {
    FL_TRY_ASSIGN(idle_w, node->real(kWattBounds));
    power.idle_w = idle_w;
  }
  FL_TRY_ASSIGN(source_node, map.get("source"));
  FL_TRY_ASSIGN(source, source_node.text());
  power.source = std::move(source);
  return power;
}

}  // namespace

Result<GpuFactors> parse_gpu_types_yaml(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(check_keys(root));
  GpuFactors factors;
  FL_TRY_ASSIGN(source_node, root.get("source"));
  FL_TRY_ASSIGN(source, source_node.text());
  factors.source = std::move(source);
  FL_TRY_ASSIGN(list, root.get("types"));
  FL_TRY_ASSIGN(items, list.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(entry, read_entry(item));
    if (factors.find(entry.gpu_type) != nullptr) {
      return item.error(fmt::format("this GPU type occurs twice: {}", entry.gpu_type));
    }
    factors.types.push_back(std::move(entry));
  }
  return factors;
}

GpuFactors builtin_gpu_factors() {
  const EmbeddedFile& file = embedded_gpu_types().front();
  Result<GpuFactors> factors = parse_gpu_types_yaml(file.text, file.name);
  FL_CHECK(factors.has_value(), "{}", factors.error().message);
  return *std::move(factors);
}

Result<std::map<std::string, GpuPower>> parse_gpu_power_yaml(std::string_view text,
                                                             std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(check_keys(root));
  std::map<std::string, GpuPower> table;
  FL_TRY_ASSIGN(list, root.get("power"));
  FL_TRY_ASSIGN(items, list.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(name_node, item.get("name"));
    FL_TRY_ASSIGN(name, name_node.text());
    FL_TRY_ASSIGN(power, read_power(item));
    if (!table.emplace(name, std::move(power)).second)
      return item.error(fmt::format("this GPU type occurs twice: {}", name));
  }
  return table;
}

std::map<std::string, GpuPower> builtin_gpu_power() {
  const EmbeddedFile& file = embedded_gpu_types().front();
  auto table = parse_gpu_power_yaml(file.text, file.name);
  FL_CHECK(table.has_value(), "{}", table.error().message);
  return *std::move(table);
}

}  // namespace fairlead
