#include "fairlead/input/gpu_power.h"

#include "fairlead/base/check.h"
#include "fairlead/input/embedded.h"
#include "fairlead/input/yaml_reader.h"

namespace fairlead {
namespace {

constexpr RealBounds kWattBounds = {0, 1e6};

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

Result<std::map<std::string, GpuPower>> parse_gpu_power_yaml(std::string_view text,
                                                             std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(root.expect_keys({"power"}));
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
  const EmbeddedFile& file = embedded_gpu_power().front();
  auto table = parse_gpu_power_yaml(file.text, file.name);
  FL_CHECK(table.has_value(), "{}", table.error().message);
  return *std::move(table);
}

}  // namespace fairlead
