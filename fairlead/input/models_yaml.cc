// Models YAML; the schema is in models_file.h.

#include "fairlead/input/models_file.h"
#include "fairlead/input/yaml_reader.h"

#include <set>

namespace fairlead {
namespace {

constexpr RealBounds kRateBounds = {0, 1e12};
constexpr RealBounds kFactorBounds = {1e-6, 1e6};
constexpr RealBounds kWeightBounds = {0, 1e6};
constexpr RealBounds kCostBounds = {0, 1e6};
constexpr RealBounds kMegabyteBounds = {0, 1e9};
constexpr RealBounds kComputeBounds = {1e-6, 1e9};
constexpr RealBounds kPartBounds = {0, 1};
constexpr IntegerBounds kGangBounds = {1, 1'000'000};

Result<std::optional<double>> read_real(const YamlNode& map, std::string_view key,
                                        RealBounds bounds) {
  const auto node = map.find(key);
  if (!node) return std::optional<double>();
  FL_TRY_ASSIGN(number, node->real(bounds));
  return std::optional<double>(number);
}

Result<RateRow> read_row(const YamlNode& map) {
  FL_TRY(map.expect_keys({"gpus", "consolidated", "spread"}));
  FL_TRY_ASSIGN(gpus_node, map.get("gpus"));
  FL_TRY_ASSIGN(gpus, gpus_node.integer(kGangBounds));
  FL_TRY_ASSIGN(rate_node, map.get("consolidated"));
  FL_TRY_ASSIGN(consolidated, rate_node.real(kRateBounds));
  FL_TRY_ASSIGN(spread, read_real(map, "spread", kRateBounds));
  return RateRow{static_cast<std::uint32_t>(gpus), consolidated, spread};
}

Result<std::vector<RateRow>> read_rows(const YamlNode& node) {
  std::vector<RateRow> rows;
  if (node.is_scalar()) {
    FL_TRY_ASSIGN(rate, node.real(kRateBounds));
    rows.push_back({1, rate, {}});
    return rows;
  }
  FL_TRY_ASSIGN(items, node.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(row, read_row(item));
    if (!rows.empty() && row.gpus <= rows.back().gpus) {
      return item.error(fmt::format("gang sizes must increase: {}", row.gpus));
    }
    rows.push_back(row);
  }
  return rows;
}

Result<std::string> read_text(const YamlNode& map, std::string_view key) {
  const auto node = map.find(key);
  if (!node) return std::string();
  return node->text();
}

// Reads a rate, rows, or a map with either of them and further keys.
Result<TypeRates> read_type(const std::string& gpu_type, const YamlNode& node) {
  TypeRates rates{.gpu_type = gpu_type, .rows = {}};
  if (!node.is_map()) {
    FL_TRY_ASSIGN(rows, read_rows(node));
    rates.rows = std::move(rows);
    return rates;
  }
  FL_TRY(node.expect_keys({"rate", "estimated", "source"}));
  FL_TRY_ASSIGN(rate, node.get("rate"));
  FL_TRY_ASSIGN(rows, read_rows(rate));
  rates.rows = std::move(rows);
  FL_TRY_ASSIGN(estimated, read_text(node, "estimated"));
  rates.estimated = std::move(estimated);
  FL_TRY_ASSIGN(source, read_text(node, "source"));
  rates.source = std::move(source);
  return rates;
}

Status read_rates(const YamlNode& node, ModelProfile& model) {
  FL_TRY_ASSIGN(types, node.pairs());
  if (types.empty()) return node.error("a model needs the rate of at least one GPU type");
  std::set<std::string> names;
  for (const YamlNode::Pair& type : types) {
    if (!names.insert(type_key(type.key)).second) {
      return type.value.error(fmt::format("this GPU type occurs twice: {}", type.key));
    }
    FL_TRY_ASSIGN(rates, read_type(type.key, type.value));
    model.rates.push_back(std::move(rates));
  }
  return {};
}

Status read_locality(const YamlNode& map, ModelProfile& model) {
  FL_TRY(map.expect_keys({"pair", "node", "rack", "spine"}));
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    FL_TRY_ASSIGN(factor, read_real(map, tier_name(Tier(tier)), kFactorBounds));
    model.locality[tier] = factor.value_or(1);
  }
  return {};
}

Status read_costs(const YamlNode& map, ModelCosts& costs) {
  const std::pair<std::string_view, std::optional<double>*> fields[] = {
      {"start_s", &costs.start_s},
      {"suspend_s", &costs.suspend_s},
      {"resume_s", &costs.resume_s},
      {"checkpoint_s", &costs.checkpoint_s},
      {"migrate_s", &costs.migrate_s}};
  FL_TRY(map.expect_keys({"start_s", "suspend_s", "resume_s", "checkpoint_s", "migrate_s"}));
  for (const auto& [key, field] : fields) {
    FL_TRY_ASSIGN(cost, read_real(map, key, kCostBounds));
    *field = cost;
  }
  return {};
}

Result<Communication> read_communication(const YamlNode& map, const ModelProfile& model) {
  FL_TRY(map.expect_keys(
      {"bytes_mb", "largest_tensor_mb", "compute_ms", "overlap", "exposed", "gpu_type"}));
  Communication communication;
  FL_TRY_ASSIGN(bytes_node, map.get("bytes_mb"));
  FL_TRY_ASSIGN(gradients_mb, bytes_node.real(kMegabyteBounds));
  communication.gradients_mb = gradients_mb;
  FL_TRY_ASSIGN(largest_mb, read_real(map, "largest_tensor_mb", RealBounds{0, gradients_mb}));
  communication.largest_tensor_mb = largest_mb.value_or(0);
  FL_TRY_ASSIGN(compute_node, map.get("compute_ms"));
  FL_TRY_ASSIGN(compute_ms, compute_node.real(kComputeBounds));
  communication.compute_ms = compute_ms;
  FL_TRY_ASSIGN(overlap, read_real(map, "overlap", kPartBounds));
  communication.overlap = overlap.value_or(0);
  FL_TRY_ASSIGN(exposed, read_real(map, "exposed", kPartBounds));
  communication.exposed = exposed.value_or(0);
  const auto type = map.find("gpu_type");
  if (!type) return communication;
  FL_TRY_ASSIGN(gpu_type, type->text());
  for (const TypeRates& rates : model.rates) {
    if (type_key(rates.gpu_type) == type_key(gpu_type)) communication.gpu_type = rates.gpu_type;
  }
  if (communication.gpu_type.empty()) {
    return type->bad_value("the model has no rate of this GPU type");
  }
  return communication;
}

Status read_also(const YamlNode& node, std::vector<std::string>& also) {
  FL_TRY_ASSIGN(parts, node.items());
  for (const YamlNode& part : parts) {
    FL_TRY_ASSIGN(text, part.text());
    if (text.empty() || text != type_key(text))
      return part.bad_value("must be a part of a name, in lower case");
    also.push_back(std::move(text));
  }
  return {};
}

Result<ModelProfile> read_model(const YamlNode& map) {
  FL_TRY(
      map.expect_keys({"name", "also", "weight", "rates", "locality", "communication", "costs"}));
  ModelProfile model;
  FL_TRY_ASSIGN(name_node, map.get("name"));
  FL_TRY_ASSIGN(name, name_node.text());
  model.name = std::move(name);
  if (const auto also = map.find("also")) FL_TRY(read_also(*also, model.also));
  FL_TRY_ASSIGN(weight, read_real(map, "weight", kWeightBounds));
  model.weight = weight.value_or(0);
  FL_TRY_ASSIGN(rates, map.get("rates"));
  FL_TRY(read_rates(rates, model));
  if (const auto locality = map.find("locality")) FL_TRY(read_locality(*locality, model));
  if (const auto communication = map.find("communication")) {
    FL_TRY_ASSIGN(read, read_communication(*communication, model));
    model.communication = std::move(read);
  }
  if (const auto costs = map.find("costs")) FL_TRY(read_costs(*costs, model.costs));
  return model;
}

}  // namespace

Result<SpeedTable> parse_models_yaml(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(root.expect_keys({"source", "models"}));
  SpeedTable table;
  table.source = file;
  if (const auto node = root.find("source")) {
    FL_TRY_ASSIGN(source, node->text());
    table.source = std::move(source);
  }
  FL_TRY_ASSIGN(list, root.get("models"));
  FL_TRY_ASSIGN(items, list.items());
  std::set<std::string> names;
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(model, read_model(item));
    if (!names.insert(model.name).second) {
      return item.error(fmt::format("two models have the same name: {}", model.name));
    }
    table.models.push_back(std::move(model));
  }
  return table;
}

}  // namespace fairlead
