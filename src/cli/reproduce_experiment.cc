#include "cli/reproduce_experiment.h"

#include "base/embedded_file.h"
#include "base/nearest.h"
#include "cli/reproduce_iterations.h"
#include "cli/reproduce_yaml.h"
#include "cli/settings.h"
#include "model/cluster_file.h"
#include "policy/registry.h"
#include "sim/iteration_sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace fairlead {

std::span<const EmbeddedFile> embedded_experiments();  // data/experiments/*.yaml

namespace {

constexpr RealBounds kAnyReal = {-1e15, 1e15};
constexpr IntegerBounds kJobPositions = {1, 1'000'000'000};
constexpr std::string_view kSharedModels = "models=shared:";

constexpr std::array<FigureSpec, 14> kFigures = {{
    {FigureKind::kSummary, "summary", "", 3, "key", "against",
     "a number of summary.json; with against, its ratio to the other policy's"},
    {FigureKind::kSummaryHours, "summary_h", "h", 2, "key", "",
     "a number of seconds of summary.json, as hours"},
    {FigureKind::kWindowJct, "window_jct", "h", 2, "first_job last_job", "",
     "mean job completion time of the jobs at these positions in the trace, counted from 1; all of "
     "them must have finished"},
    {FigureKind::kWork, "work", "GPU-h", 1, "user", "", "the user's work_gpu_hours"},
    {FigureKind::kGain, "gain", "%", 1, "user against", "price",
     "how much more work the user gets done than under the other policy"},
    {FigureKind::kGainTotal, "gain_total", "%", 1, "against", "",
     "the same for all users together"},
    {FigureKind::kGainLeast, "gain_least", "%", 1, "against", "",
     "the same for the user that gains least"},
    {FigureKind::kFluidGain, "fluid_gain", "%", 2, "user", "price",
     "what trading gives the user if GPUs are a fluid, by calculation"},
    {FigureKind::kWindowError, "window_error", "%", 1, "window_h", "",
     "the largest difference between GPU time received and entitled in any window of whole "
     "minutes, "
     "beyond one quantum of the user's largest gang, as a part of the entitled; only windows in "
     "which "
     "the user was entitled to something all the time"},
    {FigureKind::kWindowErrorMean, "window_error_mean", "%", 1, "window_h", "",
     "the mean of the same over users and windows"},
    {FigureKind::kIdleWhenWanted, "idle_when_wanted", "%", 1, "", "",
     "GPU time idle while jobs want more than there is, as a part of the capacity then"},
    {FigureKind::kMigrationsPerHour, "migrations_per_hour", "/h", 1, "", "", "migrations"},
    {FigureKind::kSchedule, "schedule", "", 0, "quanta", "", "the jobs that run in each quantum"},
    {FigureKind::kPasses, "passes", "", 0, "job quanta", "",
     "a job's stride pass at the beginning of each quantum"},
}};

bool is_text(FigureKind kind) {
  return kind == FigureKind::kSchedule || kind == FigureKind::kPasses;
}

bool has_word(std::string_view words, std::string_view word) {
  const std::string all = fmt::format(" {} ", words);
  return all.find(fmt::format(" {} ", word)) != std::string::npos;
}

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

// Whether the text names a policy.
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
  Status read_measure(const YamlNode& map);
  Status add_case(const YamlNode& map, Case one);
  Result<PublishedClaim> read_claim(const YamlNode& map);
  static Status read_claim_words(const YamlNode& map, PublishedClaim& claim);
  Result<const FigureSpec*> find_figure(const YamlNode& map) const;
  static Status check_keys(const YamlNode& map, const FigureSpec& figure);
  Status read_job_positions(const YamlNode& map, PublishedClaim& claim);
  Status read_figure_keys(const YamlNode& map, PublishedClaim& claim);
  Status read_labels(const YamlNode& map, PublishedClaim& claim);
  Status read_policy_label(const YamlNode& map, std::string_view key, std::string& label);
  Status read_expectation(const YamlNode& map, PublishedClaim& claim);
  static Status read_tolerance(const YamlNode& map, PublishedClaim& claim);
  Status read_expected(const YamlNode& map, const char* key, const YamlNode& node,
                       PublishedClaim& claim);
  Status read_expected_values(const YamlNode& node, PublishedClaim& claim) const;
  Status check_users(const YamlNode& map, const PublishedClaim& claim);

  const YamlNode& root_;
  std::filesystem::path folder_;
  Experiment experiment_;
};

Result<Experiment> ExperimentReader::read_all() {
  FL_TRY(root_.expect_keys({"title", "source", "question", "setup", "cluster", "workload",
                            "iterations", "policies", "seeds", "until_h", "quantum_s", "settings",
                            "cases", "claims", "measures"}));
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
  for (const YamlNode& item : items) FL_TRY(read_measure(item));
  return {};
}

// One claim for each policy.
Status ExperimentReader::read_measure(const YamlNode& map) {
  FL_TRY(map.expect_keys(
      {"column", "figure", "user", "key", "job", "window_h", "first_job", "last_job"}));
  PublishedClaim measure{.is_measure = true};
  FL_TRY(map.get("column"));
  FL_TRY(read(map, "column", measure.column));
  FL_TRY_ASSIGN(figure, find_figure(map));
  measure.figure = figure;
  FL_TRY(read_figure_keys(map, measure));
  for (const auto& [label, policy] : experiment_.cases.front().policies) {
    measure.policy = label;
    measure.text = fmt::format("{}, {}", measure.column, label);
    experiment_.claims.push_back(measure);
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
    FL_TRY_ASSIGN(claim, read_claim(item));
    experiment_.claims.push_back(std::move(claim));
  }
  return {};
}

Status ExperimentReader::read_words() {
  for (const char* key : {"title", "source", "question"}) FL_TRY(root_.get(key));
  FL_TRY(read(root_, "title", experiment_.title));
  FL_TRY(read(root_, "source", experiment_.source));
  FL_TRY(read(root_, "question", experiment_.question));
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
  // Some go only with others, which may come from the experiment.
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

// What the case does not say is as in the experiment.
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
  const auto* users = std::get_if<std::vector<UserSpec>>(&one.workload);
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

// Those of the workload's users, in order.
Status ExperimentReader::read_models(const YamlNode& map, Case& one) {
  const auto node = map.find("models");
  if (!node) return {};
  std::vector<std::string> models;
  FL_TRY(read(map, "models", models));
  auto* users = std::get_if<std::vector<UserSpec>>(&one.workload);
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

Status ExperimentReader::read_claim_words(const YamlNode& map, PublishedClaim& claim) {
  FL_TRY(map.get("claim"));
  FL_TRY(read(map, "claim", claim.text));
  FL_TRY(read(map, "column", claim.column));
  FL_TRY(read(map, "source", claim.source));
  return read(map, "worst", claim.worst);
}

Result<PublishedClaim> ExperimentReader::read_claim(const YamlNode& map) {
  FL_TRY(map.expect_keys({"claim",
                          "column",
                          "source",
                          "figure",
                          "policy",
                          "against",
                          "user",
                          "key",
                          "job",
                          "price",
                          "window_h",
                          "quanta",
                          "first_job",
                          "last_job",
                          "expect",
                          "tolerance",
                          "tolerance_percent",
                          "at_least",
                          "at_most",
                          "worst"}));
  PublishedClaim claim;
  FL_TRY(read_claim_words(map, claim));
  FL_TRY_ASSIGN(figure, find_figure(map));
  claim.figure = figure;
  if (claim.column.empty()) claim.column = figure->name;
  FL_TRY(read_figure_keys(map, claim));
  FL_TRY(read_expectation(map, claim));
  FL_TRY(check_users(map, claim));
  return claim;
}

Result<const FigureSpec*> ExperimentReader::find_figure(const YamlNode& map) const {
  FL_TRY_ASSIGN(figure, map.get("figure"));
  FL_TRY_ASSIGN(name, figure.text());
  const auto* const spec = std::ranges::find(kFigures, name, &FigureSpec::name);
  if (spec != kFigures.end()) {
    const bool is_summary =
        spec->kind == FigureKind::kSummary || spec->kind == FigureKind::kSummaryHours;
    if (is_summary || !experiment_.iterations) return spec;
    return figure.bad_value("expected summary or summary_h, as the runs are of iterations");
  }
  std::vector<std::string_view> names;
  names.reserve(kFigures.size());
  for (const FigureSpec& one : kFigures) names.push_back(one.name);
  return figure.bad_value(
      fmt::format("no such figure (there are: {})", nearest_first(names, name)));
}

// The claim has the keys that its figure needs, and none that it does not take.
Status ExperimentReader::check_keys(const YamlNode& map, const FigureSpec& figure) {
  for (const char* key :
       {"against", "user", "key", "job", "price", "window_h", "quanta", "first_job", "last_job"}) {
    const auto node = map.find(key);
    if (node && !has_word(figure.required, key) && !has_word(figure.optional, key)) {
      return node->error(fmt::format("the figure {} takes no {}", figure.name, key));
    }
    if (!node && has_word(figure.required, key)) FL_TRY(map.get(key));
  }
  return {};
}

Status ExperimentReader::read_job_positions(const YamlNode& map, PublishedClaim& claim) {
  FL_TRY(read(map, "first_job", kJobPositions, claim.first_job));
  FL_TRY(read(map, "last_job", kJobPositions, claim.last_job));
  if (claim.last_job >= claim.first_job) return {};
  return map.find("last_job")->bad_value("expected first_job or more");
}

Status ExperimentReader::read_figure_keys(const YamlNode& map, PublishedClaim& claim) {
  const FigureSpec& figure = *claim.figure;
  FL_TRY(check_keys(map, figure));
  for (const auto& [key, text] : {std::pair{"user", &claim.user}, std::pair{"key", &claim.key},
                                  std::pair{"job", &claim.job}, std::pair{"price", &claim.price}}) {
    FL_TRY(read(map, key, *text));
  }
  FL_TRY(read(map, "window_h", RealBounds{0.001, 1e6}, claim.window_h));
  FL_TRY(read(map, "quanta", IntegerBounds{1, 10'000}, claim.quanta));
  FL_TRY(read_job_positions(map, claim));
  if (claim.price != "slides" && claim.price != "external") {
    return map.find("price")->bad_value("expected slides or external");
  }
  if (is_text(figure.kind) && experiment_.quantum.ms == 0) {
    return map.error(fmt::format("the figure {} needs the experiment's quantum_s", figure.name));
  }
  return claim.is_measure ? Status() : read_labels(map, claim);
}

// Whose runs the figure is of; the only policy need not be named.
Status ExperimentReader::read_labels(const YamlNode& map, PublishedClaim& claim) {
  const auto policy = map.find("policy");
  if (claim.figure->kind == FigureKind::kFluidGain) {
    return policy ? Status(policy->error("the figure fluid_gain takes no policy")) : Status();
  }
  const Policies& policies = experiment_.cases.front().policies;
  if (!policy && policies.size() == 1) {
    claim.policy = policies.front().first;
  } else {
    FL_TRY(map.get("policy"));
  }
  FL_TRY(read_policy_label(map, "policy", claim.policy));
  return read_policy_label(map, "against", claim.against);
}

Status ExperimentReader::read_policy_label(const YamlNode& map, std::string_view key,
                                           std::string& label) {
  const auto node = map.find(key);
  if (!node) return {};
  FL_TRY(read(map, key, label));
  std::vector<std::string_view> labels;
  for (const auto& [known, policy] : experiment_.cases.front().policies) labels.push_back(known);
  if (std::ranges::find(labels, label) != labels.end()) return {};
  return node->bad_value(
      fmt::format("no policy has this label (there are: {})", nearest_first(labels, label)));
}

Status ExperimentReader::read_expectation(const YamlNode& map, PublishedClaim& claim) {
  constexpr std::pair<const char*, Bound> kBounds[] = {
      {"expect", Bound::kEqual}, {"at_least", Bound::kAtLeast}, {"at_most", Bound::kAtMost}};
  for (const auto& [key, bound] : kBounds) {
    const auto node = map.find(key);
    if (!node) continue;
    if (claim.bound != Bound::kNone) {
      return node->error("a claim has one of expect, at_least and at_most");
    }
    claim.bound = bound;
    FL_TRY(read_expected(map, key, *node, claim));
  }
  return read_tolerance(map, claim);
}

Status ExperimentReader::read_tolerance(const YamlNode& map, PublishedClaim& claim) {
  const bool takes = claim.bound == Bound::kEqual || claim.bound == Bound::kFluid;
  for (const auto& [key, value] : {std::pair("tolerance", &claim.tolerance),
                                   {"tolerance_percent", &claim.tolerance_percent}}) {
    const auto node = map.find(key);
    FL_TRY(read(map, key, RealBounds{0, 1e15}, *value));
    if (node && !takes) return node->error("a tolerance belongs to expect");
  }
  if (claim.tolerance > 0 && claim.tolerance_percent > 0) {
    return map.find("tolerance_percent")->error("a claim has one tolerance");
  }
  return {};
}

// A value, or a list with one for each case; null where nothing is expected.
Status ExperimentReader::read_expected_values(const YamlNode& node, PublishedClaim& claim) const {
  std::vector<YamlNode> items = {node};
  if (node.is_list()) {
    FL_TRY_ASSIGN(list, node.items());
    items = std::move(list);
    if (items.size() != 1 && items.size() != experiment_.cases.size()) {
      return node.error("expected one value, or one for each case");
    }
  }
  for (const YamlNode& item : items) {
    const bool is_null = !item.is_scalar() && !item.is_list() && !item.is_map();
    claim.expected.emplace_back();
    if (is_null && node.is_list()) continue;
    FL_TRY_ASSIGN(value, item.real(kAnyReal));
    claim.expected.back() = value;
  }
  return {};
}

Status ExperimentReader::read_expected(const YamlNode& map, const char* key, const YamlNode& node,
                                       PublishedClaim& claim) {
  const bool is_equal = claim.bound == Bound::kEqual;
  if (is_text(claim.figure->kind) && is_equal) {
    claim.bound = Bound::kText;
    return read(map, key, claim.expected_text);
  }
  if (is_equal && node.is_scalar() && node.text().value_or("") == "fluid") {
    if (claim.figure->kind != FigureKind::kGain) return node.error("only a gain is fluid");
    claim.bound = Bound::kFluid;
    return {};
  }
  if (is_text(claim.figure->kind)) return node.error("a text has no least or most");
  return read_expected_values(node, claim);
}

// The fluid calculation knows its users by name.
Status ExperimentReader::check_users(const YamlNode& map, const PublishedClaim& claim) {
  if (claim.bound != Bound::kFluid && claim.figure->kind != FigureKind::kFluidGain) return {};
  for (const Case& one : experiment_.cases) {
    const auto* users = std::get_if<std::vector<UserSpec>>(&one.workload);
    if (users == nullptr) return map.error("the fluid calculation takes a workload of users");
    if (std::ranges::find(*users, claim.user, &UserSpec::name) == users->end()) {
      return map.find("user")->bad_value("the workload has no such user");
    }
  }
  return {};
}

}  // namespace

std::span<const FigureSpec> figures() { return kFigures; }

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
