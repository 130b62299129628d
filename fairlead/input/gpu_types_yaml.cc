// The table of GPU types; the schema is in models_file.h.

#include "fairlead/input/embedded.h"
#include "fairlead/input/models_file.h"
#include "fairlead/input/yaml_reader.h"

namespace fairlead {
namespace {

constexpr RealBounds kFactorBounds = {1e-6, 1e6};

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

}  // namespace

Result<GpuFactors> parse_gpu_types_yaml(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(root.expect_keys({"source", "types"}));
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

}  // namespace fairlead
