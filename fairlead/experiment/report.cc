#include "fairlead/experiment/report.h"

#include "fairlead/compare/spread.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/report/json.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

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

// Returns the mean, and its interval if seeds differ.
std::string ours_text(const PublishedClaim& claim, const Judgement& outcome) {
  if (!outcome.reason.empty()) return "-";
  if (outcome.values.empty()) return outcome.text;
  const MeanInterval interval = mean_interval(outcome.values);
  std::string mean = number(claim, interval.mean);
  if (number(claim, interval.low) == number(claim, interval.high)) return mean;
  return fmt::format("{} [{}, {}]", mean, number(claim, interval.low),
                     number(claim, interval.high));
}

std::string_view mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReached:
      return "✓";
    case Verdict::kUndecided:
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
  std::int64_t undecided = 0;
  std::int64_t judged = 0;  // claims that can be reached at all
  std::int64_t impossible = 0;
  std::int64_t skipped = 0;
};

using Tallies = std::array<Tally, kClaimKinds.size()>;  // by ClaimKind

void add(Tallies& tallies, const ExperimentResult& result) {
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    Tally& tally = tallies[static_cast<std::size_t>(result.experiment.claims[i].kind)];
    for (const Judgement& outcome : result.outcomes[i]) {
      tally.reached += outcome.verdict == Verdict::kReached;
      tally.undecided += outcome.verdict == Verdict::kUndecided;
      tally.judged += outcome.verdict == Verdict::kReached ||
                      outcome.verdict == Verdict::kUndecided || outcome.verdict == Verdict::kMissed;
      tally.impossible += outcome.verdict == Verdict::kImpossible;
      tally.skipped += outcome.verdict == Verdict::kSkipped || outcome.verdict == Verdict::kFailed;
    }
  }
}

Tallies tallies_of(const ExperimentResult& result) {
  Tallies tallies{};
  add(tallies, result);
  return tallies;
}

// Returns "3 of 5 reached, 1 undecided"; empty if there is nothing to judge.
std::string tally_text(const Tally& sum) {
  std::vector<std::string> parts;
  if (sum.judged > 0) parts.push_back(fmt::format("{} of {} reached", sum.reached, sum.judged));
  if (sum.undecided > 0) parts.push_back(fmt::format("{} undecided", sum.undecided));
  if (sum.impossible > 0) parts.push_back(fmt::format("{} that no policy can", sum.impossible));
  if (sum.skipped > 0) parts.push_back(fmt::format("{} not measured", sum.skipped));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Returns a line for each kind of claims that the experiment has.
std::string tally_lines(const ExperimentResult& result) {
  std::string lines;
  const Tallies tallies = tallies_of(result);
  for (std::size_t kind = 0; kind < tallies.size(); ++kind) {
    const std::string text = tally_text(tallies[kind]);
    if (!text.empty()) lines += fmt::format("{}: {}\n", kClaimKinds[kind].plural, text);
  }
  return lines.empty() ? "nothing to judge\n" : lines;
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

// Returns "seed 1", "seeds 1 to 5", or "seeds 1 to 5, up to 20 where an interval was wide".
std::string seeds_text(const ExperimentResult& result) {
  const std::vector<std::uint64_t>& seeds = result.seeds;
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  std::string text = fmt::format("seeds {} to {}", seeds.front(), seeds[result.first_seeds - 1]);
  if (seeds.size() > result.first_seeds)
    text += fmt::format(", up to {} where an interval was wide", seeds.back());
  return text;
}

// Returns the common properties of the runs in one line; if cases differ, all variants.
std::string conditions(const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  const auto& cases = experiment.cases;
  std::vector<std::string> parts;
  parts.push_back("cluster " + quoted(cases, [](const Case& one) { return one.cluster; }));
  for (std::size_t i = 0; i < cases.front().policies.size(); ++i) {
    const std::string policies =
        quoted(cases, [&](const Case& one) { return one.policies[i].second; });
    parts.push_back(fmt::format("*{}*: {}", cases.front().policies[i].first, policies));
  }
  if (!cases.front().policies.empty()) {
    parts.push_back(seeds_text(result));
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
                      experiment.name, conditions(result));
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
  if (!experiment.misses.empty()) page += fmt::format("\nMissed: {}\n", experiment.misses);
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
  const MeanInterval interval = mean_interval(outcome.values);
  value["mean"] = interval.mean;
  if (interval.is_interval) value["interval"] = {interval.low, interval.high};
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
                {"kind", kClaimKinds[static_cast<std::size_t>(claim.kind)].name},
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

}  // namespace

std::string results_json(const std::vector<ExperimentResult>& results) {
  json experiments = json::array();
  for (const ExperimentResult& result : results) {
    const Experiment& experiment = result.experiment;
    json claims = json::array();
    for (std::size_t i = 0; i < experiment.claims.size(); ++i) {
      claims.push_back(claim_json(experiment.claims[i], experiment, result.outcomes[i]));
    }
    json verdicts = json::object();
    const Tallies tallies = tallies_of(result);
    for (std::size_t kind = 0; kind < tallies.size(); ++kind) {
      const Tally& sum = tallies[kind];
      if (tally_text(sum).empty()) continue;
      verdicts[kClaimKinds[kind].name] = {{"reached", sum.reached},
                                          {"undecided", sum.undecided},
                                          {"judged", sum.judged},
                                          {"no_policy_can", sum.impossible},
                                          {"not_measured", sum.skipped}};
    }
    experiments.push_back({{"name", experiment.name},
                           {"title", experiment.title},
                           {"source", experiment.source},
                           {"seeds", result.seeds},
                           {"verdicts", std::move(verdicts)},
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
  return text + tally_lines(result);
}

std::string results_page(const std::vector<ExperimentResult>& results) {
  std::string page =
      "# Published experiments, repeated\n"
      "\n"
      "Generated by `fairlead reproduce --all --out out/reproduce --doc docs/reproduction.md`; do "
      "not edit.\n"
      "Each experiment is a file of `data/experiments`. Figures are means over the seeds, with "
      "their 95 % interval\n"
      "in brackets (Student's t). A comparison of two policies is paired: each value is of one "
      "seed. If the interval\n"
      "of a judged figure is wider than 5 % on a side, its policies run with more seeds in that "
      "case, up to 20, whatever\n"
      "the verdict is.\n"
      "\n"
      "| verdict | meaning |\n"
      "|---|---|\n"
      "| ✓ reached | the whole interval meets the claim |\n"
      "| ✗ not reached | no value in the interval meets it |\n"
      "| ≈ undecided | a part of the interval meets it |\n"
      "| ⊘ no policy can | not reached, and the best value of any policy (*possible*, a proven "
      "bound) falls short |\n"
      "\n"
      "To try other seeds or your own jobs: `fairlead reproduce hadar --seeds 6-20`, `fairlead "
      "reproduce hadar --trace FILE`.\n"
      "\n";
  Cells overview = {{"experiment", "what"}};
  for (const ClaimKindWords& kind : kClaimKinds) overview[0].emplace_back(kind.plural);
  Tallies all{};
  for (const ExperimentResult& result : results) {
    overview.push_back({fmt::format("`{}`", result.experiment.name), result.experiment.title});
    for (const Tally& tally : tallies_of(result)) overview.back().push_back(tally_text(tally));
    add(all, result);
  }
  overview.push_back({"**all**", ""});
  for (const Tally& tally : all) overview.back().push_back(tally_text(tally));
  add_table(page, overview);
  for (const ExperimentResult& result : results) add_section(page, result);
  return page;
}

}  // namespace fairlead
