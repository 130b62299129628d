// `fairlead reproduce`: published experiments run again, claim by claim.

#include "fairlead/base/parse.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/compare/child_runs.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/experiment/iterations.h"
#include "fairlead/experiment/report.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/report/json.h"
#include "fairlead/report/result_files.h"
#include "fairlead/trace/convert.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <unistd.h>

namespace fairlead {
namespace {

struct Flags {
  std::vector<std::string> experiments;
  bool all = false;
  bool list = false;
  bool quick = false;
  bool json = false;
  std::string out = "out/reproduce";
  std::string doc;
};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  fairlead reproduce --list\n"
    "  fairlead reproduce trading --out out\n"
    "  fairlead reproduce my-experiment.yaml --out out\n"
    "\n"
    "DIR/NAME has a result folder for each run and, for each case, report.html: a page for a\n"
    "browser that shows the policies side by side. DIR/reproduction.json has the figures and\n"
    "verdicts, DIR/reproduction.md the same as a page. Runs are made in parallel, one per core.\n"
    "A missed claim is a result, not an error.\n";

// The runs of one experiment. The run of case i, policy k and seed n is at index(i, k, n).
struct Runs {
  std::size_t policies = 0;
  std::size_t seeds = 0;
  std::vector<std::string> skipped;  // by case: why it is not run; empty: it is
  std::vector<std::filesystem::path> folders;
  std::vector<ChildRun> children;

  std::size_t index(std::size_t i, std::size_t k, std::size_t n) const {
    return (i * policies + k) * seeds + n;
  }
};

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

ChildRun child_of(const Experiment& experiment, const Case& one, std::size_t policy,
                  std::uint64_t seed, const std::filesystem::path& trace,
                  const std::filesystem::path& folder) {
  RunFlags flags;
  flags.cluster = one.cluster;
  flags.trace = trace.string();
  flags.settings = run_settings(one);
  if (experiment.until_h > 0) flags.until = fmt::format("{}", experiment.until_h * 3600);
  ChildRun child;
  child.arguments = simulate_arguments(flags, one.policies[policy].second, seed, folder.string());
  return child;
}

Result<Runs> plan_runs(const Experiment& experiment, const std::filesystem::path& out) {
  Runs runs;
  runs.policies = experiment.cases.front().policies.size();
  runs.seeds = static_cast<std::size_t>(experiment.seeds);
  const std::size_t count = experiment.cases.size() * runs.policies * runs.seeds;
  runs.children.resize(count);
  runs.folders.resize(count);
  for (std::size_t i = 0; i < experiment.cases.size(); ++i) {
    const Case& one = experiment.cases[i];
    runs.skipped.push_back(why_skipped(one));
    if (runs.policies == 0 || experiment.iterations || !runs.skipped.back().empty()) continue;
    const std::filesystem::path folder = case_folder(experiment, i, out);
    for (std::size_t n = 0; n < runs.seeds; ++n) {
      const std::uint64_t seed = n + 1;
      FL_TRY_ASSIGN(trace, prepare_trace(one, folder, seed));
      for (std::size_t k = 0; k < runs.policies; ++k) {
        const std::size_t at = runs.index(i, k, n);
        runs.folders[at] = folder / one.policies[k].first;
        if (runs.seeds > 1) runs.folders[at] /= fmt::format("seed-{}", seed);
        runs.children[at] = child_of(experiment, one, k, seed, trace, runs.folders[at]);
      }
    }
  }
  return runs;
}

// Runs all runs that are not skipped.
Status carry_out(const Experiment& experiment, Runs& runs) {
  std::vector<ChildRun> wanted;
  for (const ChildRun& child : runs.children) {
    if (!child.arguments.empty()) wanted.push_back(child);
  }
  if (isatty(STDERR_FILENO) == 1 && !wanted.empty()) {
    fmt::print(stderr, "{}: {} runs\n", experiment.name, wanted.size());
  }
  FL_TRY(run_children(wanted));
  auto done = wanted.begin();
  for (ChildRun& child : runs.children) {
    if (!child.arguments.empty()) child = std::move(*done++);
  }
  return {};
}

// Writes a page for a browser beside the runs of each case, and prints its name to the stream.
Status write_reports(const Experiment& experiment, const Runs& runs,
                     const std::filesystem::path& out, std::FILE* said) {
  std::vector<ChildRun> reports;
  for (std::size_t i = 0; i < experiment.cases.size(); ++i) {
    const std::string folder = case_folder(experiment, i, out).string();
    const auto runs_of_case = std::span(runs.children).subspan(runs.index(i, 0, 0));
    const auto went_well = [](const ChildRun& run) {
      return !run.arguments.empty() && has_results(run);
    };
    const std::size_t count = runs.policies * runs.seeds;
    if (!std::ranges::any_of(runs_of_case.first(count), went_well)) continue;
    reports.emplace_back().arguments = {"report", folder};
  }
  FL_TRY(run_children(reports));
  for (const ChildRun& report : reports) {
    const std::string& folder = report.arguments.back();
    if (report.exit_code == 0) {
      fmt::print(said, "page: {}\n", (std::filesystem::path(folder) / "report.html").string());
    } else {
      fmt::print(stderr, "no page for {}: {}\n", folder, message_of(report));
    }
  }
  return {};
}

using AllFigures = std::vector<Result<RunFigures>>;  // by index of the run

AllFigures read_runs(const Experiment& experiment, const Runs& runs) {
  const RunQuestions questions = run_questions(experiment);
  AllFigures all;
  for (std::size_t at = 0; at < runs.children.size(); ++at) {
    const ChildRun& child = runs.children[at];
    if (child.arguments.empty())
      all.emplace_back(RunFigures{});
    else if (!has_results(child))
      all.emplace_back(run_error("{}", message_of(child)));
    else
      all.push_back(read_run(runs.folders[at], questions));
  }
  return all;
}

// Returns the mean over the cases of the common figures of a policy's runs with a seed; none if one is missing.
Result<RunFigures> mean_over_cases(const Runs& runs, const AllFigures& figures, std::size_t policy,
                                   std::size_t n) {
  RunFigures mean;
  const std::size_t cases = runs.skipped.size();
  std::map<std::string, std::size_t, std::less<>> counts;
  for (std::size_t i = 0; i < cases; ++i) {
    const auto& run = figures[runs.index(i, policy, n)];
    if (!run) return run_error("{}", run.error().message);
    for (const auto& [key, value] : run->summary) {
      mean.summary[key] += value / static_cast<double>(cases);
      ++counts[key];
    }
  }
  std::erase_if(mean.summary, [&](const auto& item) { return counts[item.first] < cases; });
  return mean;
}

// Adds the means as the runs of one more case, for claims over all cases.
void add_means(const Experiment& experiment, Runs& runs, AllFigures& figures) {
  for (std::size_t k = 0; k < runs.policies; ++k) {
    for (std::size_t n = 0; n < runs.seeds; ++n) {
      figures.push_back(mean_over_cases(runs, figures, k, n));
    }
  }
  std::string skipped;
  for (std::size_t i = 0; i < experiment.cases.size(); ++i)
    skipped = std::max(skipped, runs.skipped[i]);
  runs.skipped.push_back(skipped);
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

// None unless there is one for each seed.
std::optional<double> mean_of_all(const std::vector<double>& values, std::size_t seeds) {
  if (values.empty() || values.size() != seeds) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(seeds);
}

Judgement measured(const Runs& runs, const AllFigures& figures, const PublishedClaim& claim,
                   const Case& one, std::size_t i, std::optional<double> expected) {
  std::vector<double> values;
  std::vector<double> possible;
  std::vector<std::string> where;
  for (std::size_t n = 0; n < runs.seeds; ++n) {
    const std::size_t row = policy_row(one, claim.policy);
    const std::size_t other_row = claim.against.empty() ? row : policy_row(one, claim.against);
    const auto& run = figures[runs.index(i, row, n)];
    const auto& other = figures[runs.index(claim.against_case.value_or(i), other_row, n)];
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
  Judgement outcome = judge(claim, std::move(values), expected, mean_of_all(possible, runs.seeds));
  outcome.where = std::move(where);
  return outcome;
}

Judgement outcome_of(const Experiment& experiment, const Runs& runs, const AllFigures& figures,
                     const PublishedClaim& claim, std::size_t i) {
  const bool is_over_cases = i == experiment.cases.size();
  const Case& one = is_over_cases ? experiment.cases.front() : experiment.cases[i];
  std::optional<double> expected;
  if (is_over_cases == claim.over_cases) expected = claim.expected_in(is_over_cases ? 0 : i);
  const bool is_fluid = !claim.figure->needs_run();
  if (is_fluid || claim.bound == Bound::kFluid) {
    const auto fluid = fluid_gain(one, run_settings(one), claim);
    if (!fluid) return without_figure(Verdict::kSkipped, fluid.error().message);
    if (is_fluid) return judge(claim, {*fluid}, expected);
    expected = *fluid;
  }
  Judgement outcome = runs.skipped[i].empty() ? measured(runs, figures, claim, one, i, expected)
                                              : without_figure(Verdict::kSkipped, runs.skipped[i]);
  outcome.expected = expected;  // set even if nothing was measured
  return outcome;
}

Result<ExperimentResult> run_experiment(const Experiment& experiment,
                                        const std::filesystem::path& out, bool as_json) {
  FL_TRY_ASSIGN(runs, plan_runs(experiment, out));
  FL_TRY(carry_out(experiment, runs));
  AllFigures figures =
      experiment.iterations ? run_iterations(experiment) : read_runs(experiment, runs);
  add_means(experiment, runs, figures);
  ExperimentResult result{experiment, {}};
  for (const PublishedClaim& claim : experiment.claims) {
    result.outcomes.emplace_back();
    const std::size_t count = experiment.cases.size() + (claim.over_cases ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      result.outcomes.back().push_back(outcome_of(experiment, runs, figures, claim, i));
    }
  }
  if (!as_json) fmt::print("{}", result_text(result, stdout_style()));
  FL_TRY(write_reports(experiment, runs, out, as_json ? stderr : stdout));
  return result;
}

// The first run that failed, or nothing.
Status failure_of(const std::vector<ExperimentResult>& results) {
  for (const ExperimentResult& result : results) {
    for (const auto& by_case : result.outcomes) {
      for (const Judgement& outcome : by_case) {
        if (outcome.verdict != Verdict::kFailed) continue;
        return run_error("a run of {} failed: {}", result.experiment.name, outcome.reason);
      }
    }
  }
  return {};
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  file.write(text);
  return file.commit();
}

Status print_list(bool as_json) {
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const ExperimentTitle& one : builtin_experiments())
      list.push_back({{"experiment", one.name}, {"what", one.title}});
    fmt::print("{}", json_text(list));
    return {};
  }
  Table table({{"experiment", Align::kLeft}, {"what", Align::kLeft}});
  for (const ExperimentTitle& one : builtin_experiments()) table.add_row({one.name, one.title});
  fmt::print("{}", table.text(stdout_style()));
  return {};
}

// Every experiment is read before the first is run.
Result<std::vector<Experiment>> load_experiments(const Flags& flags) {
  std::vector<std::string> names = flags.experiments;
  if (flags.all) {
    for (const ExperimentTitle& one : builtin_experiments()) names.push_back(one.name);
  }
  if (names.empty()) return input_error("name an experiment, or use --all or --list");
  if (flags.out.empty()) return input_error("--out takes the name of a folder");
  std::vector<Experiment> experiments;
  for (const std::string& name : names) {
    FL_TRY_ASSIGN(experiment, load_experiment(name));
    const bool known =
        std::ranges::find(experiments, experiment.name, &Experiment::name) != experiments.end();
    if (known) return input_error("the experiment is named twice: {}", experiment.name);
    if (flags.quick) experiment.seeds = 1;
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

std::string figures_help() {
  std::string text = "Figures that the claims of an experiment file can name:\n";
  for (const ClaimFigure& figure : claim_figures()) {
    const std::string keys = fmt::format("{} {}", figure.required, figure.optional);
    text += fmt::format("  {}  {}\n      {}\n", figure.name, trimmed(keys), figure.help);
  }
  return text;
}

Status reproduce(const Flags& flags) {
  if (flags.list) return print_list(flags.json);
  FL_TRY_ASSIGN(experiments, load_experiments(flags));
  FolderLock lock;  // released after `folder` removed the remains of an error
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(lock.take(flags.out));
  std::vector<ExperimentResult> results;
  for (const Experiment& experiment : experiments) {
    if (!flags.json && !results.empty()) fmt::print("\n");
    FL_TRY_ASSIGN(result, run_experiment(experiment, flags.out, flags.json));
    std::fflush(stdout);
    results.push_back(std::move(result));
  }
  const std::string page = results_page(results);
  FL_TRY(write_file(folder.file("reproduction.json"), results_json(results)));
  FL_TRY(write_file(folder.file("reproduction.md"), page));
  if (!flags.doc.empty()) FL_TRY(write_file(flags.doc, page));
  FL_TRY(folder.keep());
  if (flags.json) {
    fmt::print("{}", results_json(results));
    return failure_of(results);
  }
  fmt::print("\nresults in {}\n", folder.file("reproduction.md").string());
  return failure_of(results);
}

}  // namespace

Command add_reproduce(CLI::App& root) {
  CLI::App* app = root.add_subcommand("reproduce", "Repeat published experiments, claim by claim");
  const auto flags = std::make_shared<Flags>();
  app->add_option("NAME", flags->experiments, "built-in experiments by name, or experiment files");
  app->add_flag("--all", flags->all, "run all built-in experiments");
  app->add_flag("--quick", flags->quick, "run one seed of each, for a first look");
  app->add_flag("--list", flags->list, "list the built-in experiments");
  app->add_flag("--json", flags->json, "print JSON instead of tables");
  app->add_option("--out", flags->out, "folder of the results, created if missing")
      ->capture_default_str()
      ->type_name("DIR");
  app->add_option("--doc", flags->doc, "also write the page of results to this file")
      ->type_name("FILE");
  app->footer(std::string(kExamples) + "\n" + figures_help());
  return {app, [flags] { return reproduce(*flags); }};
}

}  // namespace fairlead
