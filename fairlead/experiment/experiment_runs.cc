#include "fairlead/experiment/experiment_runs.h"

#include "fairlead/base/check.h"
#include "fairlead/compare/run_flags.h"
#include "fairlead/compare/run_inputs.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/experiment/iterations.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/trace/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace fairlead {
namespace {

std::filesystem::path case_folder(const Experiment& experiment, std::size_t i,
                                  const std::filesystem::path& out) {
  const std::filesystem::path folder = out / experiment.name;
  return experiment.cases.size() == 1 ? folder : folder / fmt::format("case-{}", i + 1);
}

// The trace of a case with a seed: the public one, or one written to the case's folder.
Result<std::filesystem::path> prepare_trace(const Case& one, const std::filesystem::path& folder,
                                            std::uint64_t seed) {
  const auto* trace = std::get_if<TraceSpec>(&one.workload);
  if (trace != nullptr && trace->is_whole_file()) return trace->path;
  FL_TRY_ASSIGN(cluster, load_cluster(one.cluster));
  FL_TRY_ASSIGN(workload, make_workload(one.workload, cluster, seed));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return run_error("cannot create a folder: {}: {}", error.message(), folder.string());
  std::filesystem::path path = folder / fmt::format("jobs-seed-{}.csv", seed);
  FL_TRY(write_native(workload, path));
  return path;
}

// Returns why the case cannot be run here; empty: it can.
std::string why_skipped(const Case& one) {
  std::string missing = missing_models(one);
  const auto* trace = std::get_if<TraceSpec>(&one.workload);
  std::error_code ignored;
  if (trace != nullptr && !std::filesystem::exists(trace->path, ignored)) {
    missing = trace->shared_name;
  }
  return missing.empty() ? "" : fmt::format("$FAIRLEAD_SHARED has no {}", missing);
}

std::size_t policy_row(const Case& one, const std::string& label) {
  const auto found = std::ranges::find(one.policies, label, &Policies::value_type::first);
  FL_CHECK(found != one.policies.end(), "no policy {}", label);
  return static_cast<std::size_t>(found - one.policies.begin());
}

Judgement without_figure(Verdict verdict, std::string reason) {
  Judgement outcome;
  outcome.verdict = verdict;
  outcome.reason = std::move(reason);
  return outcome;
}

// Returns none unless there is one for each seed.
std::optional<double> mean_of_all(const std::vector<double>& values, std::size_t seeds) {
  if (values.empty() || values.size() != seeds) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(seeds);
}

// The runs of an experiment with the seeds so far.
class Runs {
 public:
  Runs(const Experiment& experiment, const std::filesystem::path& out);

  // Runs the policies in the cases with more seeds.
  Status add(const std::vector<std::uint64_t>& seeds, const ObserveRuns& observe);
  const std::vector<std::uint64_t>& seeds() const { return seeds_; }

  // Returns the verdicts by claim, then case.
  std::vector<std::vector<Judgement>> judge_all() const;
  // Returns the folders of the cases of which a run has results.
  std::vector<std::filesystem::path> folders_with_results() const;

 private:
  using Figures = Result<RunFigures>;

  Status simulate(const std::vector<std::uint64_t>& seeds, const ObserveRuns& observe);
  Result<std::vector<ChildRun>> plan(const std::vector<std::uint64_t>& seeds);
  Result<ChildRun> child_of(std::size_t i, std::size_t policy, std::uint64_t seed);
  std::filesystem::path run_folder(std::size_t i, std::size_t policy, std::uint64_t seed) const;
  Figures mean_over_cases(std::size_t n, std::size_t policy) const;
  Judgement outcome_of(const PublishedClaim& claim, std::size_t i) const;
  Judgement measured(const PublishedClaim& claim, const Case& one, std::size_t i,
                     std::optional<double> expected) const;
  // `i`: a case; the number of cases for the mean over them.
  const Figures& figures(std::size_t n, std::size_t i, std::size_t policy) const {
    return i == cases() ? means_[n * policies_ + policy]
                        : figures_[(n * cases() + i) * policies_ + policy];
  }
  std::size_t cases() const { return experiment_.cases.size(); }
  // Returns why the case is not run; empty: it is.
  const std::string& skipped(std::size_t i) const {
    return i == cases() ? *std::ranges::max_element(skipped_) : skipped_[i];
  }

  const Experiment& experiment_;
  std::filesystem::path out_;
  std::size_t policies_;
  std::vector<std::string> skipped_;  // by case
  std::vector<std::uint64_t> seeds_;
  bool has_seed_folders_ = false;
  RunInputs inputs_;
  std::vector<Figures> figures_;  // by seed, case and policy
  std::vector<Figures> means_;    // by seed and policy
};

Runs::Runs(const Experiment& experiment, const std::filesystem::path& out)
    : experiment_(experiment), out_(out), policies_(experiment.cases.front().policies.size()) {
  for (const Case& one : experiment.cases) skipped_.push_back(why_skipped(one));
}

std::filesystem::path Runs::run_folder(std::size_t i, std::size_t policy,
                                       std::uint64_t seed) const {
  std::filesystem::path folder =
      case_folder(experiment_, i, out_) / experiment_.cases[i].policies[policy].first;
  return has_seed_folders_ ? folder / fmt::format("seed-{}", seed) : folder;
}

// Returns a run without arguments if its results are there.
Result<ChildRun> Runs::child_of(std::size_t i, std::size_t policy, std::uint64_t seed) {
  const Case& one = experiment_.cases[i];
  FL_TRY_ASSIGN(trace, prepare_trace(one, case_folder(experiment_, i, out_), seed));
  RunFlags flags;
  flags.cluster = one.cluster;
  flags.trace = trace.string();
  flags.settings = run_settings(one);
  if (experiment_.until_h > 0) flags.until = fmt::format("{}", experiment_.until_h * 3600);
  const auto& [label, name] = one.policies[policy];
  const std::filesystem::path folder = run_folder(i, policy, seed);
  ChildRun child;
  if (has_results_of(folder, inputs_.hash(flags, name, seed))) return child;
  child.name = fmt::format("{} {} seed {}", one.label, label, seed);
  child.arguments = simulate_arguments(flags, name, seed, folder.string());
  return child;
}

// Returns the runs by seed, case and policy, without arguments if there is nothing to run.
Result<std::vector<ChildRun>> Runs::plan(const std::vector<std::uint64_t>& seeds) {
  std::vector<ChildRun> children;
  for (const std::uint64_t seed : seeds) {
    for (std::size_t i = 0; i < cases(); ++i) {
      for (std::size_t policy = 0; policy < policies_; ++policy) {
        children.emplace_back();
        if (!skipped_[i].empty()) continue;
        FL_TRY_ASSIGN(child, child_of(i, policy, seed));
        children.back() = std::move(child);
      }
    }
  }
  return children;
}

Status Runs::simulate(const std::vector<std::uint64_t>& seeds, const ObserveRuns& observe) {
  FL_TRY_ASSIGN(children, plan(seeds));
  std::vector<ChildRun> wanted;
  for (const ChildRun& child : children) {
    if (!child.arguments.empty()) wanted.push_back(child);
  }
  if (!wanted.empty()) FL_TRY(run_children(wanted, observe(wanted.size()).get()));
  const RunQuestions questions = run_questions(experiment_);
  auto done = wanted.begin();
  for (std::size_t at = 0; at < children.size(); ++at) {
    if (!children[at].arguments.empty()) children[at] = *done++;
    const ChildRun& child = children[at];
    const std::size_t i = at / policies_ % cases();
    const std::uint64_t seed = seeds[at / policies_ / cases()];
    if (!skipped_[i].empty()) {
      figures_.emplace_back(RunFigures{});
    } else {
      figures_.push_back(has_results(child)
                             ? read_run(run_folder(i, at % policies_, seed), questions)
                             : run_error("{}", message_of(child)));
    }
  }
  return {};
}

// Returns the mean over the cases of the common figures of a policy's runs with a seed; an error if one is missing.
Result<RunFigures> Runs::mean_over_cases(std::size_t n, std::size_t policy) const {
  RunFigures mean;
  std::map<std::string, std::size_t, std::less<>> counts;
  for (std::size_t i = 0; i < cases(); ++i) {
    const Figures& run = figures(n, i, policy);
    if (!run) return run_error("{}", run.error().message);
    for (const auto& [key, value] : run->summary) {
      mean.summary[key] += value / static_cast<double>(cases());
      ++counts[key];
    }
  }
  std::erase_if(mean.summary, [&](const auto& item) { return counts[item.first] < cases(); });
  return mean;
}

Status Runs::add(const std::vector<std::uint64_t>& seeds, const ObserveRuns& observe) {
  has_seed_folders_ = seeds_.size() + seeds.size() > 1;
  if (experiment_.iterations) {
    std::ranges::move(run_iterations(experiment_, seeds), std::back_inserter(figures_));
  } else {
    FL_TRY(simulate(seeds, observe));
  }
  for (const std::uint64_t seed : seeds) {
    seeds_.push_back(seed);
    for (std::size_t policy = 0; policy < policies_; ++policy) {
      means_.push_back(mean_over_cases(seeds_.size() - 1, policy));
    }
  }
  return {};
}

Judgement Runs::measured(const PublishedClaim& claim, const Case& one, std::size_t i,
                         std::optional<double> expected) const {
  std::vector<double> values;
  std::vector<double> possible;
  std::vector<std::string> where;
  const std::size_t row = policy_row(one, claim.policy);
  const std::size_t other_row = claim.against.empty() ? row : policy_row(one, claim.against);
  for (std::size_t n = 0; n < seeds_.size(); ++n) {
    const Figures& run = figures(n, i, row);
    const Figures& other = figures(n, claim.against_case.value_or(i), other_row);
    if (!run) return without_figure(Verdict::kFailed, run.error().message);
    if (!other) return without_figure(Verdict::kFailed, other.error().message);
    const auto value =
        claim.figure->measure(claim, *run, claim.against.empty() ? nullptr : &*other);
    if (!value) return without_figure(Verdict::kSkipped, value.error().message);
    if (!value->text.empty()) return judge_text(claim, value->text);
    values.push_back(value->number);
    if (value->possible) possible.push_back(*value->possible);
    if (!value->where.empty()) where.push_back(value->where);
  }
  Judgement outcome =
      judge(claim, std::move(values), expected, mean_of_all(possible, seeds_.size()));
  outcome.where = std::move(where);
  return outcome;
}

Judgement Runs::outcome_of(const PublishedClaim& claim, std::size_t i) const {
  const bool is_over_cases = i == cases();
  const Case& one = is_over_cases ? experiment_.cases.front() : experiment_.cases[i];
  std::optional<double> expected;
  if (is_over_cases == claim.over_cases) expected = claim.expected_in(is_over_cases ? 0 : i);
  const bool is_fluid = !claim.figure->needs_run();
  if (is_fluid || claim.bound == Bound::kFluid) {
    if (!std::holds_alternative<std::vector<DrawnUser>>(one.workload)) {
      return without_figure(Verdict::kSkipped, "a trace has no fluid calculation");
    }
    const auto fluid = fluid_gain(one, run_settings(one), claim);
    if (!fluid) return without_figure(Verdict::kSkipped, fluid.error().message);
    if (is_fluid) return judge(claim, {*fluid}, expected);
    expected = *fluid;
  }
  Judgement outcome = skipped(i).empty() ? measured(claim, one, i, expected)
                                         : without_figure(Verdict::kSkipped, skipped(i));
  outcome.expected = expected;  // set even if nothing was measured
  return outcome;
}

std::vector<std::vector<Judgement>> Runs::judge_all() const {
  std::vector<std::vector<Judgement>> outcomes;
  for (const PublishedClaim& claim : experiment_.claims) {
    outcomes.emplace_back();
    const std::size_t count = cases() + (claim.over_cases ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) outcomes.back().push_back(outcome_of(claim, i));
  }
  return outcomes;
}

std::vector<std::filesystem::path> Runs::folders_with_results() const {
  std::vector<std::filesystem::path> folders;
  if (experiment_.iterations) return folders;
  for (std::size_t i = 0; i < cases(); ++i) {
    bool has_any = false;
    for (std::size_t n = 0; n < seeds_.size(); ++n) {
      for (std::size_t k = 0; k < policies_; ++k) has_any |= figures(n, i, k).has_value();
    }
    if (has_any && skipped_[i].empty()) folders.push_back(case_folder(experiment_, i, out_));
  }
  return folders;
}

// Removes a case with the values that claims expect in it.
void remove_case(Experiment& experiment, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  for (PublishedClaim& claim : experiment.claims) {
    if (claim.against_case == i) claim.against_case.reset();
    if (claim.against_case > i) --*claim.against_case;
    if (claim.expected.size() > 1) claim.expected.erase(claim.expected.begin() + at);
  }
  experiment.cases.erase(experiment.cases.begin() + at);
}

// Returns the largest number of seeds that a verdict needs.
std::size_t seeds_needed(const std::vector<std::vector<Judgement>>& outcomes) {
  std::size_t needed = 0;
  for (const auto& by_case : outcomes) {
    for (const Judgement& outcome : by_case) needed = std::max(needed, seeds_needed(outcome));
  }
  return needed;
}

}  // namespace

Result<ExperimentRun> run_experiment(const Experiment& experiment, const std::filesystem::path& out,
                                     std::vector<std::uint64_t> seeds, const ObserveRuns& observe) {
  const bool are_given = !seeds.empty();
  if (!are_given) {
    seeds.resize(static_cast<std::size_t>(experiment.seeds));
    std::iota(seeds.begin(), seeds.end(), 1);
  }
  Runs runs(experiment, out);
  FL_TRY(runs.add(seeds, observe));
  auto outcomes = runs.judge_all();
  const std::size_t needed = seeds_needed(outcomes);
  if (!are_given && needed > seeds.size()) {
    std::vector<std::uint64_t> more(needed - seeds.size());
    std::iota(more.begin(), more.end(), seeds.back() + 1);
    FL_TRY(runs.add(more, observe));
    outcomes = runs.judge_all();
  }
  std::vector<ChildRun> pages;
  for (const std::filesystem::path& folder : runs.folders_with_results()) {
    pages.emplace_back().arguments = {"report", folder.string()};
  }
  FL_TRY(run_children(pages));
  return ExperimentRun{{experiment, runs.seeds(), std::move(outcomes)}, std::move(pages)};
}

Result<Experiment> with_trace(Experiment experiment, const std::filesystem::path& trace) {
  if (experiment.iterations || experiment.cases.front().policies.empty()) {
    return input_error("{} has no trace that --trace could replace", experiment.name);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(trace, ignored)) {
    return input_error("no such file: {}", trace.string());
  }
  const auto is_same = [](const Case& one, const Case& other) {
    return one.cluster == other.cluster && one.policies == other.policies &&
           one.settings == other.settings;
  };
  std::vector<Case>& cases = experiment.cases;
  for (Case& one : cases) one.workload = TraceSpec{.path = trace};
  for (std::size_t i = cases.size(); i-- > 1;) {
    const auto before = std::span(cases).first(i);
    const bool is_known =
        std::ranges::any_of(before, [&](const Case& one) { return is_same(one, cases[i]); });
    if (is_known) remove_case(experiment, i);
  }
  return experiment;
}

}  // namespace fairlead
