#include "fairlead/cli/commands.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/progress.h"
#include "fairlead/cli/run_file.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/compare/export_jobs.h"
#include "fairlead/compare/margins.h"
#include "fairlead/compare/plan.h"
#include "fairlead/compare/recorded_text.h"
#include "fairlead/report/result_files.h"
#include "fairlead/run/settings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoImage = "REPLACE-WITH-AN-IMAGE";
constexpr std::string_view kNoClaim = "REPLACE-WITH-A-CLAIM";

struct Flags : CompareFlags {
  std::string export_to;  // empty: run here
  std::string image = std::string(kNoImage);
  std::string claim = std::string(kNoClaim);
};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  fairlead compare --cluster 4xV100:8 --trace jobs.csv --policies \"fifo;tiresias\" --out "
    "out\n"
    "  fairlead compare --cluster slides --trace jobs.csv --policies "
    "\"fifo;tiresias:limits=500;las\" \\\n"
    "      --seeds 5 --out out\n"
    "  fairlead compare --cluster slides --trace jobs.csv --policies \"fifo;las\" \\\n"
    "      --sweep load=0.5..1.5/5 --out out\n"
    "  fairlead compare --cluster slides --trace jobs.csv --policies \"slurm;fairlead\" \\\n"
    "      --resample 20 --out out\n"
    "\n"
    "A run's files are in DIR/POLICY; with --sweep in DIR/POINT/POLICY, and with --seeds in\n"
    "seed-N below that, with --resample the resamples in resample-N. DIR/compare.json has the\n"
    "figures of all runs, DIR/runs.csv and DIR/runs.jsonl a row per run of the trace itself.\n"
    "Runs are made in parallel, one per core.\n"
    "A run with complete results from the same inputs and the same program is not repeated,\n"
    "so after an interruption the same command resumes. More: docs/comparing.md.\n";

constexpr const char* kTables[] = {"compare.json", "runs.csv", "runs.jsonl"};

// Removes tables of an earlier comparison, which would not match the new runs.
void remove_tables(const fs::path& out, const Comparison& comparison) {
  std::error_code ignored;
  for (const char* name : kTables) fs::remove(out / name, ignored);
  for (const ComparedPoint& point : comparison.points) {
    fs::remove(out / point.folder / "compare.json", ignored);
  }
}

// Makes the runs that are not complete.
Status carry_out(const Flags& flags, ComparePlan& plan) {
  std::vector<ChildRun> children;
  for (const PlannedRun& run : plan.runs) {
    if (!run.complete) children.push_back(run.child);
  }
  if (children.empty()) return {};
  remove_tables(flags.out, plan.comparison);
  RunsProgress progress(
      children.size(),
      fmt::format("complete runs are kept; the same command{} resumes with the others",
                  flags.again ? " without --again" : ""));
  FL_TRY(run_children(children, &progress));
  auto done = children.begin();
  for (PlannedRun& run : plan.runs) {
    if (!run.complete) run.child = std::move(*done++);
  }
  return {};
}

Status collect(ComparePlan& plan) {
  for (const PlannedRun& run : plan.runs) {
    ComparedPoint& point = plan.comparison.points[run.point];
    ComparedPolicy& policy = point.policies[run.policy];
    if (!has_results(run.child)) {
      point.failures.push_back(
          {policy.policy, run.seed, run.child.exit_code, message_of(run.child)});
      continue;
    }
    FL_TRY_ASSIGN(summary, read_summary(run.folder));
    (run.is_resample ? policy.resamples : policy.summaries).push_back(std::move(summary));
  }
  return {};
}

// Returns the errors, each message once; exit code 2 if every failure is one of input.
Status failure_of(const Comparison& comparison) {
  Error error;
  std::set<std::string> seen;
  for (const ComparedPoint& point : comparison.points) {
    for (const FailedRun& failure : point.failures) {
      if (failure.exit_code != 2) error.kind = Error::Kind::kRun;
      if (!seen.insert(failure.message).second) continue;
      if (!error.message.empty()) error.message += "\nfairlead: ";
      error.message += failure.policy;
      for (const auto& [key, value] : point.values)
        error.message += fmt::format(" {}={}", key, value);
      error.message += fmt::format(" (seed {}): {}", failure.seed, failure.message);
    }
  }
  if (seen.empty()) return {};
  return tl::unexpected(std::move(error));
}

// Prints which policies left jobs that could never run to their end. Returns the exit code.
int report_jobs_left(const Flags& flags, const Comparison& comparison) {
  if (!flags.until.empty()) return 0;
  std::set<std::string> policies;
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      for (const nlohmann::json& summary : policy.summaries) {
        if (summary["pending"] > 0) policies.insert(policy.policy);
      }
    }
  }
  if (policies.empty()) return 0;
  std::fflush(stdout);
  fmt::print(stderr,
             "fairlead: some jobs can never run to their end under {}, and figures of durations "
             "omit them: "
             "jobs.csv has them as pending, and `fairlead why` explains each\n",
             fmt::join(policies, ", "));
  return kJobsLeft;
}

bool has_runs(const ComparedPoint& point) {
  return std::ranges::any_of(point.policies,
                             [](const auto& one) { return !one.summaries.empty(); });
}

Status write_text(ResultFolder& folder, const std::string& name, const std::string& text) {
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file(name)));
  file.write(text);
  return folder.add(std::move(file), name);
}

// compare.json is written last: if it exists, the tables are complete.
Status write_tables(ResultFolder& folder, const Comparison& comparison) {
  for (const ComparedPoint& point : comparison.points) {
    // Each point's folder is a comparison of its own.
    if (point.folder.empty() || !has_runs(point)) continue;
    FL_TRY(write_text(folder, point.folder + "/compare.json",
                      comparison_json(point, comparison.seeds, comparison.resampling)));
  }
  FL_TRY(write_runs(comparison, folder));
  return write_text(folder, "compare.json", comparison_json(comparison));
}

// Describes earlier content of the folder: complete runs, which are not repeated, and results of other comparisons.
std::string earlier_text(const Flags& flags, const ComparePlan& plan) {
  std::string text;
  const auto complete = std::ranges::count(plan.runs, true, &PlannedRun::complete);
  if (complete > 0) {
    text += fmt::format("\n{} of {} runs were there already; --again repeats them.\n", complete,
                        plan.runs.size());
  }
  const std::vector<std::string> others = other_results(flags.out, plan);
  if (others.empty()) return text;
  constexpr std::size_t kNamed = 3;
  text += fmt::format("\nOther results in {}, not part of this comparison: ", flags.out);
  for (std::size_t i = 0; i < std::min(kNamed, others.size()); ++i) {
    text += (i == 0 ? "" : ", ") + others[i];
  }
  if (others.size() > kNamed) text += fmt::format(" and {} more", others.size() - kNamed);
  return text + "\n";
}

Result<int> compare_here(const Flags& flags, ComparePlan plan) {
  FolderLock lock;  // released after `folder` removed the remains of an error
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(lock.take(flags.out));
  FL_TRY(carry_out(flags, plan));
  FL_TRY(collect(plan));
  if (std::ranges::none_of(plan.comparison.points, has_runs)) {
    return failure_of(plan.comparison).map([] { return 0; });
  }
  FL_TRY(write_tables(folder, plan.comparison));
  FL_TRY(folder.keep());
  if (flags.json) {
    fmt::print("{}", comparison_json(plan.comparison));
  } else {
    fmt::print("{}{}{}\nresults in {}\n", recorded_text(plan.comparison),
               comparison_text(plan.comparison, stdout_style(), flags.units),
               earlier_text(flags, plan), flags.out);
  }
  const int code = report_jobs_left(flags, plan.comparison);
  return failure_of(plan.comparison).map([&] { return code; });
}

Status export_runs(const Flags& flags, const ComparePlan& plan) {
  JobExport jobs{.runs = {},
                 .working_folder = fs::current_path(),
                 .program = fs::read_symlink("/proc/self/exe"),
                 .list = fs::path(flags.out) / "jobs.list",
                 .image = flags.image,
                 .claim = flags.claim};
  for (const PlannedRun& run : plan.runs) {
    if (!run.complete) jobs.runs.push_back(run.child.arguments);
  }
  if (jobs.runs.empty()) {
    fmt::print("All {} runs exist already; the command without --export makes the tables.\n",
               plan.runs.size());
    return {};
  }
  const bool slurm = flags.export_to == "slurm";
  const std::string name = slurm ? "jobs.sbatch" : "jobs.yaml";
  FL_TRY_ASSIGN(text, slurm ? slurm_script(jobs) : kubernetes_job(jobs));
  FolderLock lock;
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(lock.take(flags.out));
  FL_TRY(write_text(folder, "jobs.list", jobs_list(jobs.runs)));
  FL_TRY(write_text(folder, name, text));
  FL_TRY(folder.keep());
  const bool is_open = !slurm && (jobs.image == kNoImage || jobs.claim == kNoClaim);
  fmt::print("{} runs in {}.\n", jobs.runs.size(), jobs.list.string());
  if (is_open) fmt::print("Name image and claim, in the file or by --image and --claim.\n");
  fmt::print("Start them: {} {}\n", slurm ? "sbatch" : "kubectl apply -f",
             bash_word(folder.file(name).string()));
  fmt::print("Then, for the tables: the same command without --export.\n");
  return {};
}

Result<int> compare(const Flags& flags) {
  FL_TRY_ASSIGN(plan, plan_comparison(flags));
  if (flags.export_to.empty()) return compare_here(flags, std::move(plan));
  FL_TRY(export_runs(flags, plan));
  return 0;
}

void add_export_flags(CLI::App& app, Flags& flags) {
  auto* to =
      app.add_option(
             "--export", flags.export_to,
             "write a Slurm job array or a Kubernetes Job that makes the runs, and run nothing")
          ->check(CLI::IsMember({"slurm", "kubernetes"}))
          ->excludes(app.get_option("--json"))
          ->type_name("slurm|kubernetes");
  app.add_option("--image", flags.image, "container image with this program, for kubernetes")
      ->needs(to)
      ->type_name("IMAGE");
  app.add_option("--claim", flags.claim,
                 "PersistentVolumeClaim with the working folder, for kubernetes")
      ->needs(to)
      ->type_name("NAME");
}

}  // namespace

Command add_compare(CLI::App& root) {
  CLI::App* app = root.add_subcommand("compare", "Run several policies on one trace");
  const auto flags = std::make_shared<Flags>();
  add_run_flags(*app, *flags, "folder of all results, created if missing (default: out/compare)",
                &flags->clusters);
  app->add_option("--policies", flags->policies, "policies with their options, separated by ';'")
      ->required()
      ->type_name("\"A;B:OPT=V;...\"");
  constexpr std::uint64_t kSeedsMax = 1000;
  app->add_option("--seeds", flags->seeds,
                  "runs of each policy, with the seeds from --seed on (default: 1)")
      ->check(CLI::Range(std::uint64_t{1}, kSeedsMax))
      ->type_name("N");
  app->add_option(
         "--resample", flags->resamples,
         "margins: run each policy also on N traces that are drawn from blocks of days of this one")
      ->check(CLI::Range(kResamplesMin, kSeedsMax))
      ->type_name("N");
  app->add_option(
         "--sweep", flags->sweeps,
         "repeat for each value of a --set key, or of a policy's option as POLICY.OPT; A..B/N "
         "is N evenly spaced values from A to B; may be repeated, for all combinations")
      ->type_name("KEY=A..B/N|V,V,...")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--again", flags->again, "make every run, even if its results are complete");
  add_export_flags(*app, *flags);
  app->footer(std::string(kExamples) + "\n" + settings_help());
  const auto exit_code = std::make_shared<int>(0);
  return {app,
          [app, flags, exit_code]() -> Status {
            FL_TRY(save_run_file(*app));
            if (app->count("--out") == 0) flags->out = "out/compare";
            FL_TRY_ASSIGN(code, compare(*flags));
            *exit_code = code;
            return {};
          },
          exit_code};
}

}  // namespace fairlead
