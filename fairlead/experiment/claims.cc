#include "fairlead/experiment/claims.h"

#include "fairlead/base/nearest.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/experiment/iterations.h"
#include "fairlead/experiment/yaml.h"
#include "fairlead/metrics/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace fairlead {
namespace {

constexpr RealBounds kAnyReal = {-1e15, 1e15};
constexpr IntegerBounds kJobPositions = {1, 1'000'000'000};

// Reads one item of `claims` or `measures`.
class ClaimReader {
 public:
  ClaimReader(const YamlNode& map, const Experiment& experiment)
      : map_(map), experiment_(experiment) {}

  Result<PublishedClaim> claim();
  Result<std::vector<PublishedClaim>> measure();

 private:
  Status read_claim_words(PublishedClaim& claim);
  Result<const ClaimFigure*> find_figure() const;
  Status check_keys(const ClaimFigure& figure) const;
  Status check_summary_key(const PublishedClaim& claim) const;
  Status read_job_positions(PublishedClaim& claim);
  Status read_figure_keys(PublishedClaim& claim);
  Status check_values(const PublishedClaim& claim);
  Status read_labels(PublishedClaim& claim);
  Status read_against_case(PublishedClaim& claim);
  Status read_policy_label(std::string_view key, std::string& label);
  Status read_expectation(PublishedClaim& claim);
  Status read_over_cases(PublishedClaim& claim);
  Status read_tolerance(PublishedClaim& claim);
  Status read_expected(const char* key, const YamlNode& node, PublishedClaim& claim);
  Status read_expected_values(const YamlNode& node, PublishedClaim& claim) const;
  Status check_users(const PublishedClaim& claim) const;

  const YamlNode& map_;
  const Experiment& experiment_;
};

Status ClaimReader::read_claim_words(PublishedClaim& claim) {
  FL_TRY(map_.get("claim"));
  FL_TRY(read(map_, "claim", claim.text));
  FL_TRY(read(map_, "column", claim.column));
  FL_TRY(read(map_, "source", claim.source));
  claim.kind = experiment_.kind;
  return read_claim_kind(map_, claim.kind);
}

Result<PublishedClaim> ClaimReader::claim() {
  FL_TRY(map_.expect_keys({"claim",
                           "column",
                           "source",
                           "figure",
                           "policy",
                           "against",
                           "against_case",
                           "user",
                           "key",
                           "job",
                           "price",
                           "window_h",
                           "of",
                           "quanta",
                           "first_job",
                           "last_job",
                           "expect",
                           "tolerance",
                           "tolerance_percent",
                           "at_least",
                           "at_most",
                           "kind",
                           "over_cases"}));
  PublishedClaim claim;
  FL_TRY(read_claim_words(claim));
  FL_TRY_ASSIGN(figure, find_figure());
  claim.figure = figure;
  if (claim.column.empty()) claim.column = figure->name;
  FL_TRY(read_figure_keys(claim));
  FL_TRY(read_expectation(claim));
  FL_TRY(read_over_cases(claim));
  FL_TRY(check_users(claim));
  return claim;
}

Result<const ClaimFigure*> ClaimReader::find_figure() const {
  FL_TRY_ASSIGN(figure, map_.get("figure"));
  FL_TRY_ASSIGN(name, figure.text());
  if (const ClaimFigure* known = find_claim_figure(name)) {
    if (known->requires_key("key") || !experiment_.iterations) return known;
    return figure.bad_value("expected summary or summary_h, because the experiment has iterations");
  }
  std::vector<std::string_view> names;
  for (const ClaimFigure& one : claim_figures()) names.push_back(one.name);
  return figure.bad_value(
      fmt::format("no such figure (there are: {})", nearest_first(names, name)));
}

// Checks that the claim has all keys that its figure needs, and no key that it does not take.
Status ClaimReader::check_keys(const ClaimFigure& figure) const {
  for (const char* key : {"against", "user", "key", "job", "price", "window_h", "of", "quanta",
                          "first_job", "last_job"}) {
    const auto node = map_.find(key);
    if (node && !figure.takes_key(key)) {
      return node->error(fmt::format("the figure {} takes no {}", figure.name, key));
    }
    if (!node && figure.requires_key(key)) FL_TRY(map_.get(key));
  }
  return {};
}

// Checks that a run of the experiment has the figure: for summary_h, a figure in seconds.
Status ClaimReader::check_summary_key(const PublishedClaim& claim) const {
  const auto node = map_.find("key");
  if (!node) return {};
  std::vector<std::string_view> keys;
  const auto add = [&](std::string_view key, FigureUnit unit) {
    if (claim.figure->unit == "h" && unit != FigureUnit::kSeconds) return;
    keys.push_back(key);
  };
  if (experiment_.iterations) {
    for (const IterationFigure& figure : iteration_figures()) add(figure.key, figure.unit);
  } else {
    for (const Figure& figure : run_figures()) add(figure.key, figure.unit);
  }
  if (std::ranges::find(keys, claim.key) != keys.end()) return {};
  return node->bad_value(
      fmt::format("no such figure of a run (there are: {})", nearest_first(keys, claim.key)));
}

Status ClaimReader::read_job_positions(PublishedClaim& claim) {
  FL_TRY(read(map_, "first_job", kJobPositions, claim.first_job));
  FL_TRY(read(map_, "last_job", kJobPositions, claim.last_job));
  if (claim.last_job >= claim.first_job) return {};
  return map_.find("last_job")->bad_value("expected first_job or more");
}

Status ClaimReader::read_figure_keys(PublishedClaim& claim) {
  const ClaimFigure& figure = *claim.figure;
  FL_TRY(check_keys(figure));
  for (const auto& [key, text] :
       {std::pair{"user", &claim.user}, std::pair{"key", &claim.key}, std::pair{"job", &claim.job},
        std::pair{"price", &claim.price}, std::pair{"of", &claim.received}}) {
    FL_TRY(read(map_, key, *text));
  }
  FL_TRY(read(map_, "window_h", RealBounds{0.001, 1e6}, claim.window_h));
  FL_TRY(read(map_, "quanta", IntegerBounds{1, 10'000}, claim.quanta));
  FL_TRY(read_job_positions(claim));
  FL_TRY(check_summary_key(claim));
  FL_TRY(check_values(claim));
  return claim.is_measure ? Status() : read_labels(claim);
}

Status ClaimReader::check_values(const PublishedClaim& claim) {
  if (claim.price != "slides" && claim.price != "external") {
    return map_.find("price")->bad_value("expected slides or external");
  }
  if (!received_named(claim.received)) {
    return map_.find("of")->bad_value("expected held, useful or effective");
  }
  if (claim.figure->is_text() && experiment_.quantum.ms == 0) {
    return map_.error(
        fmt::format("the figure {} needs the experiment's quantum_s", claim.figure->name));
  }
  return {};
}

// Reads the labels of the figure's runs; the only policy need not be named.
Status ClaimReader::read_labels(PublishedClaim& claim) {
  const auto policy = map_.find("policy");
  if (!claim.figure->needs_run()) {
    if (!policy) return {};
    return policy->error(fmt::format("the figure {} takes no policy", claim.figure->name));
  }
  const Policies& policies = experiment_.cases.front().policies;
  if (!policy && policies.size() == 1) {
    claim.policy = policies.front().first;
  } else {
    FL_TRY(map_.get("policy"));
  }
  FL_TRY(read_policy_label("policy", claim.policy));
  FL_TRY(read_policy_label("against", claim.against));
  return read_against_case(claim);
}

Status ClaimReader::read_against_case(PublishedClaim& claim) {
  const auto node = map_.find("against_case");
  if (!node) return {};
  if (claim.against.empty()) return node->error("against_case needs against");
  std::string label;
  FL_TRY(read(map_, "against_case", label));
  const auto found = std::ranges::find(experiment_.cases, label, &Case::label);
  if (found == experiment_.cases.end()) return node->bad_value("no case has this label");
  claim.against_case = static_cast<std::size_t>(found - experiment_.cases.begin());
  return {};
}

Status ClaimReader::read_policy_label(std::string_view key, std::string& label) {
  const auto node = map_.find(key);
  if (!node) return {};
  FL_TRY(read(map_, key, label));
  std::vector<std::string_view> labels;
  for (const auto& [known, policy] : experiment_.cases.front().policies) labels.push_back(known);
  if (std::ranges::find(labels, label) != labels.end()) return {};
  return node->bad_value(
      fmt::format("no policy has this label (there are: {})", nearest_first(labels, label)));
}

Status ClaimReader::read_expectation(PublishedClaim& claim) {
  constexpr std::pair<const char*, Bound> kBounds[] = {
      {"expect", Bound::kEqual}, {"at_least", Bound::kAtLeast}, {"at_most", Bound::kAtMost}};
  for (const auto& [key, bound] : kBounds) {
    const auto node = map_.find(key);
    if (!node) continue;
    if (claim.bound != Bound::kNone) {
      return node->error("a claim has one of expect, at_least and at_most");
    }
    claim.bound = bound;
    FL_TRY(read_expected(key, *node, claim));
  }
  return read_tolerance(claim);
}

Status ClaimReader::read_over_cases(PublishedClaim& claim) {
  FL_TRY(read(map_, "over_cases", claim.over_cases));
  if (!claim.over_cases) return {};
  const YamlNode node = *map_.find("over_cases");
  if (!claim.figure->requires_key("key")) {
    return node.error(fmt::format("summary.json has no figure {}", claim.figure->name));
  }
  if (claim.expected.size() > 1) return node.error("all cases together have one expected value");
  return {};
}

Status ClaimReader::read_tolerance(PublishedClaim& claim) {
  const bool takes = claim.bound == Bound::kEqual || claim.bound == Bound::kFluid;
  for (const auto& [key, value] : {std::pair("tolerance", &claim.tolerance),
                                   {"tolerance_percent", &claim.tolerance_percent}}) {
    const auto node = map_.find(key);
    FL_TRY(read(map_, key, RealBounds{0, 1e15}, *value));
    if (node && !takes) return node->error("a tolerance belongs to expect");
  }
  if (claim.tolerance > 0 && claim.tolerance_percent > 0) {
    return map_.find("tolerance_percent")->error("a claim has one tolerance");
  }
  return {};
}

// Reads a value, or a list with one for each case; null if nothing is expected.
Status ClaimReader::read_expected_values(const YamlNode& node, PublishedClaim& claim) const {
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

Status ClaimReader::read_expected(const char* key, const YamlNode& node, PublishedClaim& claim) {
  const bool is_equal = claim.bound == Bound::kEqual;
  if (claim.figure->is_text() && is_equal) {
    claim.bound = Bound::kText;
    return read(map_, key, claim.expected_text);
  }
  if (is_equal && node.is_scalar() && node.text().value_or("") == "fluid") {
    if (claim.figure->name != "gain") return node.error("only a gain is fluid");
    claim.bound = Bound::kFluid;
    return {};
  }
  if (claim.figure->is_text())
    return node.error("this figure is text: use expect, not at_least or at_most");
  return read_expected_values(node, claim);
}

// Checks that the workload lists the claim's user, if the claim needs the fluid calculation.
Status ClaimReader::check_users(const PublishedClaim& claim) const {
  if (claim.bound != Bound::kFluid && claim.figure->needs_run()) return {};
  for (const Case& one : experiment_.cases) {
    const auto* users = std::get_if<std::vector<DrawnUser>>(&one.workload);
    if (users == nullptr)
      return map_.error("the fluid calculation needs a workload that lists users");
    if (std::ranges::find(*users, claim.user, &DrawnUser::name) == users->end()) {
      return map_.find("user")->bad_value("the workload has no such user");
    }
  }
  return {};
}

Result<std::vector<PublishedClaim>> ClaimReader::measure() {
  FL_TRY(map_.expect_keys(
      {"column", "figure", "user", "key", "job", "window_h", "of", "first_job", "last_job"}));
  PublishedClaim measure{.is_measure = true};
  FL_TRY(map_.get("column"));
  FL_TRY(read(map_, "column", measure.column));
  FL_TRY_ASSIGN(figure, find_figure());
  measure.figure = figure;
  FL_TRY(read_figure_keys(measure));
  std::vector<PublishedClaim> measures;
  for (const auto& [label, policy] : experiment_.cases.front().policies) {
    measure.policy = label;
    measure.text = fmt::format("{}, {}", measure.column, label);
    measures.push_back(measure);
  }
  return measures;
}

}  // namespace

Status read_claim_kind(const YamlNode& map, ClaimKind& kind) {
  const auto node = map.find("kind");
  if (!node) return {};
  FL_TRY_ASSIGN(name, node->text());
  const auto found = std::ranges::find(kClaimKinds, name, &ClaimKindWords::name);
  if (found == kClaimKinds.end()) {
    return node->bad_value("expected number, statement, target or identity");
  }
  kind = static_cast<ClaimKind>(found - kClaimKinds.begin());
  return {};
}

Result<PublishedClaim> read_claim(const YamlNode& map, const Experiment& experiment) {
  return ClaimReader(map, experiment).claim();
}

Result<std::vector<PublishedClaim>> read_measure(const YamlNode& map,
                                                 const Experiment& experiment) {
  return ClaimReader(map, experiment).measure();
}

}  // namespace fairlead
