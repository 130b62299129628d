#include "fairlead/experiment/report.h"

#include "fairlead/base/check.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/report/json.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

using nlohmann::json;

// Figures are rounded to nine decimals in files, so equal ones may differ by this.
constexpr double kSlack = 1e-9;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the distance by which a value misses the claim.
double excess(const PublishedClaim& claim, double value, double expected) {
  switch (claim.bound) {
    case Bound::kAtLeast:
      return expected - value;
    case Bound::kAtMost:
      return value - expected;
    case Bound::kEqual:
    case Bound::kFluid:
      return std::abs(value - expected) -
             std::max(claim.tolerance, claim.tolerance_percent / 100 * std::abs(expected));
    case Bound::kNone:
    case Bound::kText:
      break;
  }
  return 0;
}

std::string number(const PublishedClaim& claim, double value) {
  return number_text(value, claim.figure->decimals);
}

// Returns the bound with as many decimals as it was written with.
std::string bound_number(double value) { return fmt::format("{}", std::round(value * 1e6) / 1e6); }

std::string with_unit(const PublishedClaim& claim, std::string text) {
  if (!claim.figure->unit.empty() && !text.empty() && text != "-")
    text += fmt::format(" {}", claim.figure->unit);
  return text;
}

// Without the tolerance.
std::string bound_text(const PublishedClaim& claim, const Judgement& outcome) {
  if (claim.bound == Bound::kText) return claim.expected_text;
  if (!outcome.expected) return "";
  switch (claim.bound) {
    case Bound::kAtLeast:
      return "≥ " + bound_number(*outcome.expected);
    case Bound::kAtMost:
      return "≤ " + bound_number(*outcome.expected);
    case Bound::kFluid:
      return number(claim, *outcome.expected);
    case Bound::kEqual:
      return bound_number(*outcome.expected);
    case Bound::kNone:
    case Bound::kText:
      break;
  }
  return "";
}

enum class Units : std::uint8_t { kTold, kLeftOut };

std::string expected_text(const PublishedClaim& claim, const Judgement& outcome, Units units) {
  std::string text = bound_text(claim, outcome);
  if (text.empty()) return "";
  if (claim.tolerance > 0) text += " ± " + bound_number(claim.tolerance);
  if (units == Units::kTold) text = with_unit(claim, std::move(text));
  if (claim.tolerance_percent > 0) {
    text += fmt::format(" ± {} %", bound_number(claim.tolerance_percent));
  }
  if (outcome.possible) text += fmt::format(", possible {}", number(claim, *outcome.possible));
  return text;
}

// Returns the mean, and the range if seeds differ.
std::string ours_text(const PublishedClaim& claim, const Judgement& outcome) {
  if (!outcome.reason.empty()) return "-";
  if (outcome.values.empty()) return outcome.text;
  const auto [least, most] = std::ranges::minmax(outcome.values);
  std::string mean = number(claim, mean_of(outcome.values));
  if (number(claim, least) == number(claim, most)) return mean;
  return fmt::format("{} [{}, {}]", mean, number(claim, least), number(claim, most));
}

std::string_view mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReached:
      return "✓";
    case Verdict::kTied:
      return "≈";
    case Verdict::kMissed:
      return "✗";
    case Verdict::kImpossible:
      return "⊘";
    case Verdict::kMeasured:
    case Verdict::kSkipped:
    case Verdict::kFailed:
      break;
  }
  return "";
}

// A table as cells, drawn later for a terminal or a page; the first row is the header.
using Cells = std::vector<std::vector<std::string>>;

std::string verdict_text(const Judgement& outcome) {
  const std::string name(verdict_name(outcome.verdict));
  return outcome.reason.empty() ? name : fmt::format("{}: {}", name, outcome.reason);
}

// Returns the number of claims without the measures, which come last.
std::size_t claims_to_judge(const Experiment& experiment) {
  return static_cast<std::size_t>(
      std::ranges::count(experiment.claims, false, &PublishedClaim::is_measure));
}

Cells claim_rows(const ExperimentResult& result) {
  Cells cells = {{"claim", "expected", "ours", "verdict"}};
  for (std::size_t i = 0; i < claims_to_judge(result.experiment); ++i) {
    const PublishedClaim& claim = result.experiment.claims[i];
    const Judgement& outcome = result.outcomes[i].front();
    cells.push_back({claim.text, expected_text(claim, outcome, Units::kTold),
                     with_unit(claim, ours_text(claim, outcome)), verdict_text(outcome)});
  }
  return cells;
}

std::string case_cell(const PublishedClaim& claim, const Judgement& outcome) {
  if (!outcome.reason.empty()) return std::string(verdict_name(outcome.verdict));
  std::string cell = ours_text(claim, outcome);
  const std::string expected = expected_text(claim, outcome, Units::kLeftOut);
  if (!expected.empty()) cell += fmt::format(" ({}) {}", expected, mark(outcome.verdict));
  return cell;
}

Cells transposed(const Cells& cells) {
  Cells columns(cells[0].size());
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
  }
  return columns;
}

std::string column_header(const PublishedClaim& claim) {
  if (claim.figure->unit.empty()) return claim.column;
  return fmt::format("{}, {}", claim.column, claim.figure->unit);
}

Cells case_rows(const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  const std::size_t claims = claims_to_judge(experiment);
  Cells cells = {{"case"}};
  for (std::size_t k = 0; k < claims; ++k) {
    cells[0].push_back(column_header(experiment.claims[k]));
  }
  for (std::size_t i = 0; i < experiment.cases.size(); ++i) {
    cells.push_back({experiment.cases[i].label});
    for (std::size_t k = 0; k < claims; ++k) {
      cells.back().push_back(case_cell(experiment.claims[k], result.outcomes[k][i]));
    }
  }
  const auto is_over_cases = [](const auto& claim) { return claim.over_cases; };
  if (std::ranges::any_of(experiment.claims, is_over_cases)) {
    cells.push_back({"all cases"});
    for (std::size_t k = 0; k < claims; ++k) {
      const PublishedClaim& claim = experiment.claims[k];
      cells.back().push_back(claim.over_cases ? case_cell(claim, result.outcomes[k].back()) : "");
    }
  }
  // The longer side becomes the rows.
  if (claims <= experiment.cases.size()) return cells;
  cells[0][0] = "figure";
  return transposed(cells);
}

bool has_cases(const Experiment& experiment) { return !experiment.cases.front().label.empty(); }

Cells cells_of(const ExperimentResult& result) {
  if (claims_to_judge(result.experiment) == 0) return {};
  return has_cases(result.experiment) ? case_rows(result) : claim_rows(result);
}

// Returns a row for each policy in each case, a column for each measure; no rows if there are no measures.
Cells measure_rows(const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  const std::size_t policies = experiment.cases.front().policies.size();
  const std::size_t begin = claims_to_judge(experiment);
  if (begin == experiment.claims.size()) return {};
  Cells cells = {{"case", "policy"}};
  for (std::size_t k = begin; k < experiment.claims.size(); k += policies) {
    cells[0].push_back(column_header(experiment.claims[k]));
  }
  for (std::size_t i = 0; i < experiment.cases.size(); ++i) {
    for (std::size_t policy = 0; policy < policies; ++policy) {
      cells.push_back({experiment.cases[i].label, experiment.claims[begin + policy].policy});
      for (std::size_t k = begin + policy; k < experiment.claims.size(); k += policies) {
        cells.back().push_back(case_cell(experiment.claims[k], result.outcomes[k][i]));
      }
    }
  }
  return cells;
}

// Returns why outcomes are missing, each reason once.
std::vector<std::string> reasons(const ExperimentResult& result) {
  std::vector<std::string> all;
  for (const auto& by_case : result.outcomes) {
    for (const Judgement& outcome : by_case) {
      const bool known = std::ranges::find(all, verdict_text(outcome)) != all.end();
      if (!outcome.reason.empty() && !known) all.push_back(verdict_text(outcome));
    }
  }
  return all;
}

struct Tally {
  std::int64_t reached = 0;
  std::int64_t tied = 0;
  std::int64_t judged = 0;  // claims that can be reached at all
  std::int64_t impossible = 0;
  std::int64_t skipped = 0;
};

Tally tally(const ExperimentResult& result) {
  Tally tally;
  for (const auto& by_case : result.outcomes) {
    for (const Judgement& outcome : by_case) {
      tally.reached += outcome.verdict == Verdict::kReached;
      tally.tied += outcome.verdict == Verdict::kTied;
      tally.judged += outcome.verdict == Verdict::kReached || outcome.verdict == Verdict::kTied ||
                      outcome.verdict == Verdict::kMissed;
      tally.impossible += outcome.verdict == Verdict::kImpossible;
      tally.skipped += outcome.verdict == Verdict::kSkipped || outcome.verdict == Verdict::kFailed;
    }
  }
  return tally;
}

std::string tally_text(const ExperimentResult& result) {
  const Tally sum = tally(result);
  std::vector<std::string> parts;
  if (sum.judged > 0) parts.push_back(fmt::format("{} of {} reached", sum.reached, sum.judged));
  if (sum.tied > 0) parts.push_back(fmt::format("{} tied", sum.tied));
  if (sum.impossible > 0) parts.push_back(fmt::format("{} that no policy can", sum.impossible));
  if (parts.empty()) parts.emplace_back("nothing to judge");
  if (sum.skipped > 0) parts.push_back(fmt::format("{} not measured", sum.skipped));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

void add_table(std::string& page, const Cells& cells) {
  for (std::size_t row = 0; row < cells.size(); ++row) {
    page += '|';
    for (const std::string& cell : cells[row]) page += fmt::format(" {} |", escaped(cell));
    page += '\n';
    if (row > 0) continue;
    page += '|';
    for (std::size_t i = 0; i < cells[0].size(); ++i) page += "---|";
    page += '\n';
  }
}

// Returns the different texts, in order, in code quotes: "`a`, `b`".
template <class TextOf>
std::string quoted(const std::vector<Case>& cases, TextOf text_of) {
  std::vector<std::string> texts;
  for (const Case& one : cases) {
    std::string text = fmt::format("`{}`", text_of(one));
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Returns each setting, with its cases if not all have it.
std::vector<std::string> settings_of(const std::vector<Case>& cases) {
  std::vector<std::string> texts;
  std::vector<std::string> seen;
  for (const Case& one : cases) {
    for (const std::string& setting : one.settings) {
      if (std::ranges::find(seen, setting) != seen.end()) continue;
      seen.push_back(setting);
      std::vector<std::string> labels;
      for (const Case& other : cases) {
        if (std::ranges::find(other.settings, setting) == other.settings.end()) continue;
        labels.push_back(other.label);
      }
      std::string text = fmt::format("`{}`", setting);
      if (labels.size() < cases.size()) text += fmt::format(" ({})", fmt::join(labels, ", "));
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

// Returns the common properties of the runs in one line; if cases differ, all variants.
std::string conditions(const Experiment& experiment) {
  const auto& cases = experiment.cases;
  std::vector<std::string> parts;
  parts.push_back("cluster " + quoted(cases, [](const Case& one) { return one.cluster; }));
  for (std::size_t i = 0; i < cases.front().policies.size(); ++i) {
    const std::string policies =
        quoted(cases, [&](const Case& one) { return one.policies[i].second; });
    parts.push_back(fmt::format("*{}*: {}", cases.front().policies[i].first, policies));
  }
  if (!cases.front().policies.empty()) {
    parts.push_back(fmt::format("{} seed{}", experiment.seeds, experiment.seeds == 1 ? "" : "s"));
  }
  if (experiment.until_h > 0) parts.push_back(fmt::format("{} h", experiment.until_h));
  for (std::string& setting : settings_of(cases)) parts.push_back(std::move(setting));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add_section(std::string& page, const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  page += fmt::format("\n## {}\n\n{}\n\n", experiment.title, experiment.question);
  page += fmt::format("- Source: {}\n", experiment.source);
  if (!experiment.setup.empty()) page += fmt::format("- Set up: {}\n", experiment.setup);
  page += fmt::format("- Run: `fairlead reproduce {} --out out/{}`; {}\n\n", experiment.name,
                      experiment.name, conditions(experiment));
  const Cells claims = cells_of(result);
  if (!claims.empty()) add_table(page, claims);
  if (has_cases(experiment) && !claims.empty()) {
    page += '\n';
    for (std::size_t i = 0; i < claims_to_judge(experiment); ++i) {
      const PublishedClaim& claim = experiment.claims[i];
      page += fmt::format("- *{}*: {}\n", claim.column, claim.text);
    }
    for (const std::string& reason : reasons(result)) page += fmt::format("- {}\n", reason);
  }
  const Cells measures = measure_rows(result);
  if (measures.empty()) return;
  if (!claims.empty()) page += "\nAll runs:\n\n";
  add_table(page, measures);
}

json outcome_json(const PublishedClaim& claim, const std::string& label, const Judgement& outcome) {
  json value = {{"verdict", verdict_name(outcome.verdict)}};
  if (!label.empty()) value["case"] = label;
  if (!outcome.reason.empty()) value["reason"] = outcome.reason;
  if (claim.bound == Bound::kText) value["expected"] = claim.expected_text;
  if (!outcome.text.empty()) value["ours"] = outcome.text;
  if (outcome.values.empty()) return value;
  const auto [least, most] = std::ranges::minmax(outcome.values);
  value["mean"] = mean_of(outcome.values);
  value["min"] = least;
  value["max"] = most;
  value["values"] = outcome.values;
  if (!outcome.where.empty()) value["where"] = outcome.where;
  if (outcome.expected) value["expected"] = *outcome.expected;
  if (outcome.possible) value["possible"] = *outcome.possible;
  return value;
}

json claim_json(const PublishedClaim& claim, const Experiment& experiment,
                const std::vector<Judgement>& outcomes) {
  constexpr std::string_view kBounds[] = {"none", "equal", "at_least", "at_most", "fluid", "text"};
  json value = {{"claim", claim.text},
                {"figure", claim.figure->name},
                {"unit", claim.figure->unit},
                {"bound", kBounds[static_cast<std::size_t>(claim.bound)]},
                {"tolerance", claim.tolerance},
                {"tolerance_percent", claim.tolerance_percent},
                {"source", claim.source.empty() ? experiment.source : claim.source},
                {"outcomes", json::array()}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool is_over_cases = i == experiment.cases.size();
    const std::string label = is_over_cases ? "all cases" : experiment.cases[i].label;
    value["outcomes"].push_back(outcome_json(claim, label, outcomes[i]));
  }
  return value;
}

Verdict verdict_on(const PublishedClaim& claim, const std::vector<double>& values, double expected,
                   std::optional<double> possible) {
  double worst = excess(claim, values.front(), expected);
  double best = worst;
  for (const double value : values) {
    worst = std::max(worst, excess(claim, value, expected));
    best = std::min(best, excess(claim, value, expected));
  }
  const double beyond = claim.worst ? worst : excess(claim, mean_of(values), expected);
  if (beyond <= kSlack) return Verdict::kReached;
  if (possible && excess(claim, *possible, expected) > kSlack) return Verdict::kImpossible;
  return !claim.worst && best <= kSlack ? Verdict::kTied : Verdict::kMissed;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"reached",  "tied",    "not reached", "no policy can",
                                         "measured", "skipped", "failed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Judgement judge(const PublishedClaim& claim, std::vector<double> values,
                std::optional<double> expected, std::optional<double> possible) {
  FL_CHECK(!values.empty());
  Judgement outcome;
  outcome.expected = expected;
  if (claim.bound != Bound::kNone && expected) {
    outcome.possible = possible;
    outcome.verdict = verdict_on(claim, values, *expected, possible);
  }
  outcome.values = std::move(values);
  return outcome;
}

Judgement judge_text(const PublishedClaim& claim, std::string text) {
  Judgement outcome;
  if (claim.bound == Bound::kText) {
    outcome.verdict = text == claim.expected_text ? Verdict::kReached : Verdict::kMissed;
  }
  outcome.text = std::move(text);
  return outcome;
}

std::string results_json(const std::vector<ExperimentResult>& results) {
  json experiments = json::array();
  for (const ExperimentResult& result : results) {
    const Experiment& experiment = result.experiment;
    json claims = json::array();
    for (std::size_t i = 0; i < experiment.claims.size(); ++i) {
      claims.push_back(claim_json(experiment.claims[i], experiment, result.outcomes[i]));
    }
    const Tally sum = tally(result);
    experiments.push_back({{"name", experiment.name},
                           {"title", experiment.title},
                           {"source", experiment.source},
                           {"reached", sum.reached},
                           {"judged", sum.judged},
                           {"claims", std::move(claims)}});
  }
  return json_text({{"experiments", std::move(experiments)}});
}

std::string result_text(const ExperimentResult& result, TextStyle style) {
  std::string text = fmt::format("{}: {}\n", result.experiment.name, result.experiment.title);
  for (const Cells& cells : {cells_of(result), measure_rows(result)}) {
    if (cells.size() < 2) continue;
    std::vector<Table::Column> columns;
    for (const std::string& header : cells[0]) columns.push_back({header, Align::kLeft});
    Table table(std::move(columns));
    for (std::size_t row = 1; row < cells.size(); ++row) table.add_row(cells[row]);
    text += table.text(style);
  }
  if (has_cases(result.experiment)) {
    for (const std::string& reason : reasons(result)) text += reason + '\n';
  }
  return text + tally_text(result) + '\n';
}

std::string results_page(const std::vector<ExperimentResult>& results) {
  std::string page =
      "# Published experiments, repeated\n"
      "\n"
      "Generated by `fairlead reproduce --all --out out/reproduce --doc docs/reproduction.md`; do "
      "not edit.\n"
      "Each experiment is a file of `data/experiments`. Figures are means over the seeds, with "
      "[least, most]\n"
      "where seeds differ. A table by case has the expected value in parentheses, and ✓ or ✗ for "
      "reached or not.\n"
      "≈ is a tie: the expected value lies between the least and the most of the seeds. *possible* "
      "is the best value of\n"
      "any policy, by a proven bound; ⊘ means that even this bound falls short, so that no policy "
      "can reach the value.\n"
      "\n";
  Cells overview = {{"experiment", "what", "verdicts"}};
  for (const ExperimentResult& result : results) {
    overview.push_back(
        {fmt::format("`{}`", result.experiment.name), result.experiment.title, tally_text(result)});
  }
  add_table(page, overview);
  for (const ExperimentResult& result : results) add_section(page, result);
  return page;
}

}  // namespace fairlead
