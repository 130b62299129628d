#include "fairlead/experiment/experiment.h"

#include "fairlead/base/embedded_file.h"
#include "fairlead/base/nearest.h"
#include "fairlead/experiment/claims.h"
#include "fairlead/experiment/iterations.h"
#include "fairlead/experiment/yaml.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/iteration/sim.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace fairlead {

std::span<const EmbeddedFile> embedded_experiments();  // data/experiments/*.yaml

namespace {

constexpr std::string_view kSharedModels = "models=shared:";

// Labels name folders.
bool is_label(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.');
                             }) &&
         !text.starts_with('.');
}

enum class PolicyKind : std::uint8_t { kEngine, kIterations };

// Returns whether the text names a policy.
Status check_policy(const std::string& text, PolicyKind kind) {
  if (kind == PolicyKind::kIterations) {
    return parse_iteration_policy(text).map([](const auto&) {});
  }
  return parse_policy(text, 0).map([](const auto&) {});
}

Result<Policies> read_policies(const YamlNode& map, PolicyKind kind) {
  FL_TRY_ASSIGN(pairs, map.pairs());
  Policies policies;
  for (const YamlNode::Pair& pair : pairs) {
    if (!is_label(pair.key)) {
      return pair.value.error(
          fmt::format("a policy's label has letters, digits, '-', '_' and '.': {}", pair.key));
    }
    FL_TRY_ASSIGN(text, pair.value.text());
    const Status checked = check_policy(text, kind);
    if (!checked) return pair.value.error(checked.error().message);
    policies.emplace_back(pair.key, text);
  }
  return policies;
}

class ExperimentReader {
 public:
  ExperimentReader(const YamlNode& root, std::filesystem::path folder)
      : root_(root), folder_(std::move(folder)) {}

  Result<Experiment> read_all();

 private:
  Status read_words();
  Status read_numbers();
  Status read_iteration_options();
  PolicyKind policy_kind() const {
    return experiment_.iterations ? PolicyKind::kIterations : PolicyKind::kEngine;
  }
  static Status read_settings(const YamlNode& map, Case& one);
  Status read_cases();
  Status read_world(const YamlNode& map, Case& one);
  static Status read_models(const YamlNode& map, Case& one);
  Status replace_policies(const YamlNode& map, Case& one);
  Status read_case(const YamlNode& map, const Case& base);
  Status read_claims();
  Status read_measures();
  Status add_case(const YamlNode& map, Case one);

  const YamlNode& root_;
  std::filesystem::path folder_;
  Experiment experiment_;
};

Result<Experiment> ExperimentReader::read_all() {
  FL_TRY(root_.expect_keys({"title", "source", "question", "setup", "misses", "cluster", "workload",
                            "iterations", "policies", "seeds", "kind", "until_h", "quantum_s",
                            "settings", "cases", "claims", "measures"}));
  FL_TRY(read_words());
  FL_TRY(read_numbers());
  FL_TRY(read_iteration_options());
  FL_TRY(read_cases());
  FL_TRY(read_claims());
  FL_TRY(read_measures());
  return std::move(experiment_);
}

Status ExperimentReader::read_numbers() {
  FL_TRY(read(root_, "seeds", {1, 1000}, experiment_.seeds));
  FL_TRY(read_claim_kind(root_, experiment_.kind));
  FL_TRY(read(root_, "until_h", {0.001, 1e6}, experiment_.until_h));
  double quantum_s = 0;
  FL_TRY(read(root_, "quantum_s", RealBounds{0.001, 1e6}, quantum_s));
  experiment_.quantum = {std::llround(quantum_s * 1000)};
  return {};
}

Status ExperimentReader::read_measures() {
  const auto list = root_.find("measures");
  if (!list) return {};
  FL_TRY_ASSIGN(items, list->items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(measures, read_measure(item, experiment_));
    std::ranges::move(measures, std::back_inserter(experiment_.claims));
  }
  return {};
}

Status ExperimentReader::read_iteration_options() {
  const auto node = root_.find("iterations");
  if (!node) return {};
  for (const char* key : {"until_h", "quantum_s"}) {
    if (const auto other = root_.find(key)) return other->error("does not go with iterations");
  }
  FL_TRY_ASSIGN(options, read_iterations(*node));
  experiment_.iterations = std::move(options);
  return {};
}

Status ExperimentReader::read_claims() {
  if (!root_.find("claims") && root_.find("measures")) return {};
  FL_TRY_ASSIGN(list, root_.get("claims"));
  FL_TRY_ASSIGN(items, list.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(claim, read_claim(item, experiment_));
    experiment_.claims.push_back(std::move(claim));
  }
  return {};
}

Status ExperimentReader::read_words() {
  for (const char* key : {"title", "source", "question"}) FL_TRY(root_.get(key));
  FL_TRY(read(root_, "title", experiment_.title));
  FL_TRY(read(root_, "source", experiment_.source));
  FL_TRY(read(root_, "question", experiment_.question));
  FL_TRY(read(root_, "misses", experiment_.misses));
  return read(root_, "setup", experiment_.setup);
}

Status ExperimentReader::read_settings(const YamlNode& map, Case& one) {
  const auto settings = map.find("settings");
  if (!settings) return {};
  FL_TRY_ASSIGN(pairs, settings->pairs());
  for (const YamlNode::Pair& pair : pairs) {
    FL_TRY_ASSIGN(value, pair.value.text());
    one.settings.push_back(pair.key + "=" + value);
  }
  // Some settings require others, which may come from the experiment.
  const auto together = parse_settings(one.settings);
  if (together) return {};
  for (const YamlNode::Pair& pair : pairs) {
    if (together.error().message.find(pair.key) != std::string::npos) {
      return pair.value.error(together.error().message);
    }
  }
  return settings->error(together.error().message);
}

Status ExperimentReader::read_cases() {
  Case base;
  FL_TRY(read_world(root_, base));
  if (const auto policies = root_.find("policies")) {
    FL_TRY_ASSIGN(read_all, read_policies(*policies, policy_kind()));
    base.policies = std::move(read_all);
  }
  const auto list = root_.find("cases");
  if (!list) return add_case(root_, std::move(base));
  FL_TRY_ASSIGN(items, list->items());
  for (const YamlNode& item : items) FL_TRY(read_case(item, base));
  return {};
}

// Keys missing in the case are as in the experiment.
Status ExperimentReader::read_case(const YamlNode& map, const Case& base) {
  FL_TRY(map.expect_keys({"label", "cluster", "workload", "models", "policies", "settings"}));
  FL_TRY(map.get("label"));
  Case one = base;
  FL_TRY(read(map, "label", one.label));
  FL_TRY(read_world(map, one));
  FL_TRY(replace_policies(map, one));
  return add_case(map, std::move(one));
}

Status ExperimentReader::add_case(const YamlNode& map, Case one) {
  if (one.cluster.empty()) return map.error("the key is missing here: cluster");
  const auto* users = std::get_if<std::vector<DrawnUser>>(&one.workload);
  if (users != nullptr && users->empty() && !experiment_.iterations) {
    return map.error("the key is missing here: workload");
  }
  for (const Case& other : experiment_.cases) {
    if (other.label == one.label) {
      return map.error(fmt::format("two cases have the same label: {}", one.label));
    }
  }
  experiment_.cases.push_back(std::move(one));
  return {};
}

Status ExperimentReader::read_world(const YamlNode& map, Case& one) {
  for (const char* key : {"workload", "settings"}) {
    const auto node = map.find(key);
    if (node && experiment_.iterations) return node->error("does not go with iterations");
  }
  FL_TRY(read_settings(map, one));
  if (const auto node = map.find("cluster")) {
    FL_TRY(read(map, "cluster", one.cluster));
    const auto cluster = load_cluster(one.cluster);
    if (!cluster) return node->error(cluster.error().message);
  }
  if (const auto node = map.find("workload")) {
    FL_TRY_ASSIGN(workload, read_workload(*node, folder_));
    one.workload = std::move(workload);
  }
  return read_models(map, one);
}

// Reads the models of the workload's users, in order.
Status ExperimentReader::read_models(const YamlNode& map, Case& one) {
  const auto node = map.find("models");
  if (!node) return {};
  std::vector<std::string> models;
  FL_TRY(read(map, "models", models));
  auto* users = std::get_if<std::vector<DrawnUser>>(&one.workload);
  if (users == nullptr || users->size() != models.size()) {
    return node->error("models take a workload of as many users");
  }
  for (std::size_t i = 0; i < models.size(); ++i) (*users)[i].model = models[i];
  return {};
}

Status ExperimentReader::replace_policies(const YamlNode& map, Case& one) {
  const auto node = map.find("policies");
  if (!node) return {};
  FL_TRY_ASSIGN(policies, read_policies(*node, policy_kind()));
  for (auto& [label, policy] : policies) {
    const auto known = std::ranges::find(one.policies, label, &Policies::value_type::first);
    if (known == one.policies.end()) {
      return node->error(fmt::format("the experiment has no policy of this label: {}", label));
    }
    known->second = std::move(policy);
  }
  return {};
}

}  // namespace

Result<Experiment> read_experiment(std::string_view text, std::string_view file,
                                   std::string_view name) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  ExperimentReader reader(root, std::filesystem::path(file).parent_path());
  FL_TRY_ASSIGN(experiment, reader.read_all());
  experiment.name = name;
  return experiment;
}

std::vector<std::string> run_settings(const Case& one) {
  std::vector<std::string> settings = one.settings;
  for (std::string& setting : settings) {
    if (!setting.starts_with(kSharedModels)) continue;
    const std::filesystem::path path = shared_folder() / setting.substr(kSharedModels.size());
    setting = "models=" + path.string();
  }
  return settings;
}

std::string missing_models(const Case& one) {
  for (const std::string& setting : one.settings) {
    if (!setting.starts_with(kSharedModels)) continue;
    std::string name = setting.substr(kSharedModels.size());
    std::error_code ignored;
    if (!std::filesystem::exists(shared_folder() / name, ignored)) return name;
  }
  return "";
}

std::vector<ExperimentTitle> builtin_experiments() {
  std::vector<ExperimentTitle> titles;
  for (const EmbeddedFile& file : embedded_experiments()) {
    const Result<YamlNode> root = YamlNode::parse(file.text, file.name);
    FL_CHECK(root.has_value(), "experiment {}: {}", file.name, root.error().message);
    const auto title = root->find("title");
    FL_CHECK(title.has_value(), "experiment {} has no title", file.name);
    titles.push_back({std::string(file.name), title->text().value_or("")});
  }
  std::ranges::sort(titles, {}, &ExperimentTitle::name);
  return titles;
}

Result<Experiment> load_experiment(const std::string& spec) {
  const auto files = embedded_experiments();
  const auto file = std::ranges::find(files, spec, &EmbeddedFile::name);
  if (file != files.end()) {
    return read_experiment(file->text, fmt::format("{}.yaml", file->name), file->name);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) {
    std::vector<std::string_view> names;
    for (const EmbeddedFile& known : files) names.push_back(known.name);
    return input_error("no such experiment, nor such a file (there are: {}): {}",
                       nearest_first(names, spec), spec);
  }
  FL_TRY_ASSIGN(source, ByteSource::open(spec));
  FL_TRY_ASSIGN(text, yaml_text(source));
  return read_experiment(text, spec, std::filesystem::path(spec).stem().string());
}

}  // namespace fairlead
