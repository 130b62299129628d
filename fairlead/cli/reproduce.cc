// `fairlead reproduce`: published experiments run again, claim by claim.

#include "fairlead/base/parse.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/progress.h"
#include "fairlead/compare/child_runs.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/experiment/experiment_runs.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/experiment/report.h"
#include "fairlead/report/json.h"
#include "fairlead/report/result_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <numeric>

namespace fairlead {
namespace {

constexpr std::int64_t kSeedsGivenMax = 1000;  // as many as an experiment file may have

struct Flags {
  std::vector<std::string> experiments;
  bool all = false;
  bool list = false;
  bool quick = false;
  bool json = false;
  std::string seeds;
  std::string trace;
  std::string out = "out/reproduce";
  std::string doc;
};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  fairlead reproduce --list\n"
    "  fairlead reproduce trading --out out\n"
    "  fairlead reproduce my-experiment.yaml --out out\n"
    "  fairlead reproduce hadar --seeds 6-20 --trace jobs.csv\n"
    "\n"
    "DIR/NAME has a result folder for each run and, for each case, report.html: a page for a\n"
    "browser that shows the policies side by side. --all leaves these pages out, because they\n"
    "took a third of its time: fairlead report DIR/NAME/CASE writes one. DIR/reproduction.json\n"
    "has the figures and verdicts, DIR/reproduction.md the same as a page. Runs are made in\n"
    "parallel, one per core.\n"
    "Runs that DIR has already, from the same program and inputs, are not made again.\n"
    "A missed claim is a result, not an error.\n";

// Writes a page for a browser into each folder, and prints their paths to the stream.
Status write_pages(const std::vector<std::filesystem::path>& folders, std::FILE* to) {
  std::vector<ChildRun> pages;
  for (const std::filesystem::path& folder : folders) {
    pages.emplace_back().arguments = {"report", folder.string()};
  }
  FL_TRY(run_children(pages));
  for (const ChildRun& page : pages) {
    const std::string& folder = page.arguments.back();
    if (page.exit_code == 0) {
      fmt::print(to, "page: {}\n", (std::filesystem::path(folder) / "report.html").string());
    } else {
      fmt::print(stderr, "no page for {}: {}\n", folder, message_of(page));
    }
  }
  return {};
}

Result<ExperimentResult> run_one(const Experiment& experiment, const Flags& flags,
                                 const std::vector<std::uint64_t>& seeds) {
  const auto observe = [&](std::size_t runs) {
    return std::make_unique<RunsProgress>(
        runs, fmt::format("runs that ended are kept in {}: the same command goes on", flags.out));
  };
  FL_TRY_ASSIGN(run, run_experiment(experiment, flags.out, seeds, observe));
  if (!flags.json) fmt::print("{}", result_text(run.result, stdout_style()));
  if (!flags.all) FL_TRY(write_pages(run.folders, flags.json ? stderr : stdout));
  return std::move(run.result);
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
    if (!flags.trace.empty()) {
      FL_TRY_ASSIGN(other, with_trace(std::move(experiment), flags.trace));
      experiment = std::move(other);
    }
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

// Returns the seeds that the flags name, from "6" or "6-20"; none: those of each experiment.
Result<std::vector<std::uint64_t>> seeds_of(const Flags& flags) {
  if (flags.quick && !flags.seeds.empty())
    return input_error("--quick runs seed 1: leave out --seeds");
  if (flags.quick) return std::vector<std::uint64_t>{1};
  if (flags.seeds.empty()) return std::vector<std::uint64_t>{};
  const std::size_t dash = flags.seeds.find('-');
  const auto first = parse_integer(flags.seeds.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_integer(flags.seeds.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= kSeedsGivenMax) {
    return input_error("--seeds takes a seed, or a range of up to {} such as 6-20: {}",
                       kSeedsGivenMax, flags.seeds);
  }
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(*last - *first + 1));
  std::iota(seeds.begin(), seeds.end(), static_cast<std::uint64_t>(*first));
  return seeds;
}

std::string figures_help() {
  std::string text = "Figures that the claims of an experiment file can name:\n";
  for (const ClaimFigure& figure : claim_figures()) {
    const std::string keys = fmt::format("{} {}", figure.required, figure.optional);
    text += fmt::format("  {}  {}\n      {}\n", figure.name, trimmed(keys), figure.help);
  }
  return text;
}

Result<std::vector<ExperimentResult>> run_all(const std::vector<Experiment>& experiments,
                                              const Flags& flags,
                                              const std::vector<std::uint64_t>& seeds) {
  std::vector<ExperimentResult> results;
  for (const Experiment& experiment : experiments) {
    if (!flags.json && !results.empty()) fmt::print("\n");
    FL_TRY_ASSIGN(result, run_one(experiment, flags, seeds));
    std::fflush(stdout);
    results.push_back(std::move(result));
  }
  return results;
}

Status reproduce(const Flags& flags) {
  if (flags.list) return print_list(flags.json);
  FL_TRY_ASSIGN(experiments, load_experiments(flags));
  FL_TRY_ASSIGN(seeds, seeds_of(flags));
  FolderLock lock;  // released after `folder` removed the remains of an error
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(lock.take(flags.out));
  FL_TRY_ASSIGN(results, run_all(experiments, flags, seeds));
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
  app->add_option("--seeds", flags->seeds,
                  "seeds of the runs, for example 6-20 (default: those of the experiment, and "
                  "more, up to 20, where a "
                  "figure varies)")
      ->type_name("FROM-TO");
  app->add_option("--trace", flags->trace,
                  "jobs of this file instead of the experiment's; see fairlead trace --help")
      ->type_name("FILE");
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
