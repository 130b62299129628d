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

// The runs of an experiment so far. The first seeds are given, further ones follow the last of them.
class Runs {
 public:
  // Numbers of seeds by case and policy.
  using Counts = std::vector<std::size_t>;

  Runs(const Experiment& experiment, const std::filesystem::path& out,
       std::vector<std::uint64_t> seeds);

  // Runs every policy in every case with the first seeds.
  Status run_first(const ObserveRuns& observe) {
    return run(Counts(figures_.size(), seeds_.size()), observe);
  }
  // Runs policies with more seeds, in the cases in which a verdict needs them. Returns false if none does.
  Result<bool> run_more(const std::vector<std::vector<Judgement>>& outcomes,
                        const ObserveRuns& observe);
  // Returns the seeds of the policy that has most of them.
  std::vector<std::uint64_t> seeds() const;

  // Returns the verdicts by claim, then case.
  std::vector<std::vector<Judgement>> judge_all() const;
  // Returns the folders of the cases of which a run has results.
  std::vector<std::filesystem::path> folders_with_results() const;

 private:
  using Figures = Result<RunFigures>;
  struct Planned {
    std::size_t i;  // the case
    std::size_t policy;
    std::uint64_t seed;
    ChildRun child;  // without arguments if there is nothing to run
  };

  Status run(const Counts& wanted, const ObserveRuns& observe);
  Status simulate(const Counts& wanted, const ObserveRuns& observe);
  void iterate(const Counts& wanted);
  Result<std::vector<Planned>> plan(const Counts& wanted);
  Result<ChildRun> child_of(std::size_t i, std::size_t policy, std::uint64_t seed);
  std::filesystem::path run_folder(std::size_t i, std::size_t policy, std::uint64_t seed) const;
  Counts needed(const std::vector<std::vector<Judgement>>& outcomes) const;
  Counts present() const;
  std::uint64_t seed_of(std::size_t n) const {
    return n < seeds_.size() ? seeds_[n] : seeds_.back() + (n - seeds_.size() + 1);
  }
  Figures mean_over_cases(std::size_t n, std::size_t policy) const;
  void add_means();
  Judgement outcome_of(const PublishedClaim& claim, std::size_t i) const;
  Judgement measured(const PublishedClaim& claim, const Case& one, std::size_t i,
                     std::optional<double> expected) const;
  // Returns the figures by seed. `i`: a case; the number of cases for the mean over them.
  const std::vector<Figures>& figures(std::size_t i, std::size_t policy) const {
    return i == cases() ? means_[policy] : figures_[i * policies_ + policy];
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
  std::vector<std::uint64_t> seeds_;  // the first ones
  RunInputs inputs_;
  std::vector<std::vector<Figures>> figures_;  // by case and policy, then seed
  std::vector<std::vector<Figures>> means_;    // by policy, then seed
};

Runs::Runs(const Experiment& experiment, const std::filesystem::path& out,
           std::vector<std::uint64_t> seeds)
    : experiment_(experiment),
      out_(out),
      policies_(experiment.cases.front().policies.size()),
      seeds_(std::move(seeds)),
      figures_(experiment.cases.size() * policies_),
      means_(policies_) {
  for (const Case& one : experiment.cases) skipped_.push_back(why_skipped(one));
}

std::filesystem::path Runs::run_folder(std::size_t i, std::size_t policy,
                                       std::uint64_t seed) const {
  std::filesystem::path folder =
      case_folder(experiment_, i, out_) / experiment_.cases[i].policies[policy].first;
  return seeds_.size() > 1 ? folder / fmt::format("seed-{}", seed) : folder;
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

// Returns the runs that are missing, by seed, case and policy.
Result<std::vector<Runs::Planned>> Runs::plan(const Counts& wanted) {
  std::vector<Planned> planned;
  for (std::size_t n = 0; n < std::ranges::max(wanted); ++n) {
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      if (n < figures_[row].size() || n >= wanted[row]) continue;
      Planned one{.i = row / policies_, .policy = row % policies_, .seed = seed_of(n), .child = {}};
      if (skipped_[one.i].empty()) {
        FL_TRY_ASSIGN(child, child_of(one.i, one.policy, one.seed));
        one.child = std::move(child);
      }
      planned.push_back(std::move(one));
    }
  }
  return planned;
}

Status Runs::simulate(const Counts& wanted, const ObserveRuns& observe) {
  FL_TRY_ASSIGN(planned, plan(wanted));
  std::vector<ChildRun> children;
  for (const Planned& one : planned) {
    if (!one.child.arguments.empty()) children.push_back(one.child);
  }
  if (!children.empty()) FL_TRY(run_children(children, observe(children.size()).get()));
  const RunQuestions questions = run_questions(experiment_);
  auto done = children.begin();
  for (Planned& one : planned) {
    if (!one.child.arguments.empty()) one.child = *done++;
    std::vector<Figures>& runs = figures_[one.i * policies_ + one.policy];
    if (!skipped_[one.i].empty()) {
      runs.emplace_back(RunFigures{});
    } else {
      runs.push_back(has_results(one.child)
                         ? read_run(run_folder(one.i, one.policy, one.seed), questions)
                         : run_error("{}", message_of(one.child)));
    }
  }
  return {};
}

// Runs iterations, which are short, in all cases with the most seeds that one needs.
void Runs::iterate(const Counts& wanted) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t n = figures_.front().size(); n < std::ranges::max(wanted); ++n)
    seeds.push_back(seed_of(n));
  std::vector<Figures> runs = run_iterations(experiment_, seeds);
  for (std::size_t at = 0; at < runs.size(); ++at)
    figures_[at % figures_.size()].push_back(std::move(runs[at]));
}

// Returns the mean over the cases of the common figures of a policy's runs with a seed; an error if one is missing.
Result<RunFigures> Runs::mean_over_cases(std::size_t n, std::size_t policy) const {
  RunFigures mean;
  std::map<std::string, std::size_t, std::less<>> counts;
  for (std::size_t i = 0; i < cases(); ++i) {
    const Figures& run = figures(i, policy)[n];
    if (!run) return run_error("{}", run.error().message);
    for (const auto& [key, value] : run->summary) {
      mean.summary[key] += value / static_cast<double>(cases());
      ++counts[key];
    }
  }
  std::erase_if(mean.summary, [&](const auto& item) { return counts[item.first] < cases(); });
  return mean;
}

void Runs::add_means() {
  for (std::size_t policy = 0; policy < policies_; ++policy) {
    std::size_t seeds = figures(0, policy).size();
    for (std::size_t i = 1; i < cases(); ++i) seeds = std::min(seeds, figures(i, policy).size());
    std::vector<Figures>& means = means_[policy];
    while (means.size() < seeds) means.push_back(mean_over_cases(means.size(), policy));
  }
}

Status Runs::run(const Counts& wanted, const ObserveRuns& observe) {
  if (figures_.empty()) return {};
  if (experiment_.iterations) {
    iterate(wanted);
  } else {
    FL_TRY(simulate(wanted, observe));
  }
  add_means();
  return {};
}

Runs::Counts Runs::present() const {
  Counts counts;
  for (const auto& runs : figures_) counts.push_back(runs.size());
  return counts;
}

Runs::Counts Runs::needed(const std::vector<std::vector<Judgement>>& outcomes) const {
  Counts counts = present();
  const auto raise = [&](std::size_t i, const std::string& policy, std::size_t seeds) {
    const std::size_t row = policy_row(experiment_.cases.front(), policy);
    for (std::size_t at = 0; at < cases(); ++at) {
      std::size_t& count = counts[at * policies_ + row];
      if (i == at || i == cases()) count = std::max(count, seeds);
    }
  };
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const PublishedClaim& claim = experiment_.claims[k];
    if (!claim.figure->needs_run()) continue;
    for (std::size_t i = 0; i < outcomes[k].size(); ++i) {
      const std::size_t seeds = seeds_needed(outcomes[k][i]);
      raise(i, claim.policy, seeds);
      if (!claim.against.empty()) raise(claim.against_case.value_or(i), claim.against, seeds);
    }
  }
  return counts;
}

Result<bool> Runs::run_more(const std::vector<std::vector<Judgement>>& outcomes,
                            const ObserveRuns& observe) {
  const Counts wanted = needed(outcomes);
  if (wanted == present()) return false;
  FL_TRY(run(wanted, observe));
  return true;
}

std::vector<std::uint64_t> Runs::seeds() const {
  std::size_t most = seeds_.size();
  for (const std::size_t count : present()) most = std::max(most, count);
  std::vector<std::uint64_t> seeds;
  for (std::size_t n = 0; n < most; ++n) seeds.push_back(seed_of(n));
  return seeds;
}

Judgement Runs::measured(const PublishedClaim& claim, const Case& one, std::size_t i,
                         std::optional<double> expected) const {
  std::vector<double> values;
  std::vector<double> possible;
  std::vector<std::string> where;
  const std::size_t row = policy_row(one, claim.policy);
  const std::size_t other_row = claim.against.empty() ? row : policy_row(one, claim.against);
  const std::vector<Figures>& runs = figures(i, row);
  const std::vector<Figures>& others = figures(claim.against_case.value_or(i), other_row);
  const std::size_t seeds = std::min(runs.size(), others.size());
  for (std::size_t n = 0; n < seeds; ++n) {
    const Figures& run = runs[n];
    const Figures& other = others[n];
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
  Judgement outcome = judge(claim, std::move(values), expected, mean_of_all(possible, seeds));
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
    for (std::size_t policy = 0; policy < policies_; ++policy) {
      for (const Figures& run : figures(i, policy)) has_any |= run.has_value();
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

}  // namespace

Result<ExperimentRun> run_experiment(const Experiment& experiment, const std::filesystem::path& out,
                                     std::vector<std::uint64_t> seeds, const ObserveRuns& observe) {
  const bool are_given = !seeds.empty();
  if (!are_given) {
    seeds.resize(static_cast<std::size_t>(experiment.seeds));
    std::iota(seeds.begin(), seeds.end(), 1);
  }
  const std::size_t first_seeds = seeds.size();
  Runs runs(experiment, out, std::move(seeds));
  FL_TRY(runs.run_first(observe));
  auto outcomes = runs.judge_all();
  if (!are_given) {
    FL_TRY_ASSIGN(has_more, runs.run_more(outcomes, observe));
    if (has_more) outcomes = runs.judge_all();
  }
  return ExperimentRun{{experiment, runs.seeds(), first_seeds, std::move(outcomes)},
                       runs.folders_with_results()};
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
