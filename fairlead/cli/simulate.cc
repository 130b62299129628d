#include "fairlead/cli/commands.h"
#include "fairlead/cli/run.h"
#include "fairlead/cli/run_file.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/compare/child_runs.h"
#include "fairlead/compare/export_jobs.h"
#include "fairlead/compare/run_inputs.h"
#include "fairlead/compare/sweep.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/json.h"
#include "fairlead/report/summary_text.h"

#include <fmt/format.h>

#include <cstdio>

namespace fairlead {
namespace {

struct Flags : RunFlags {
  std::string policy;
};

constexpr std::string_view kExamples =
    "Examples:\n"
    "  fairlead simulate --cluster 4xV100:8 --trace jobs.csv --policy fifo --out out\n"
    "  fairlead simulate --cluster slides --trace philly.csv.gz --policy tiresias:limits=3250/7200 "
    "\\\n"
    "      --set costs=none --until 86400 --out out\n"
    "\n"
    "Writes summary.json, jobs.csv, users.csv, timeline.csv, run.json and journal.flj.\n"
    "Exit code 3: results are complete, but without --until some jobs could never run to their "
    "end.\n";

// Returns the exit code.
Result<int> simulate(const Flags& flags) {
  FL_TRY_ASSIGN(config, run_config(flags, flags.policy));
  config.inputs_hash = RunInputs().hash(flags, flags.policy, flags.seed);
  config.command = "fairlead";
  for (const std::string& word : simulate_arguments(flags, flags.policy, flags.seed, flags.out))
    config.command += " " + bash_word(word);
  FL_TRY_ASSIGN(outcome, run_simulation(config));
  const Summary& summary = outcome.summary;
  if (flags.json) {
    fmt::print("{}", summary_json(summary));
  } else {
    fmt::print("{}\nresults in {}, {:.2f} s\n", summary_text(summary, stdout_style(), flags.units),
               flags.out, outcome.wall_s);
  }
  // Without --until a run ends when nothing can happen any more.
  if (summary.pending == 0 || !flags.until.empty()) return 0;
  std::fflush(stdout);
  fmt::print(
      stderr,
      "fairlead: {} of {} jobs can never run to their end under {}, and figures of durations "
      "omit them: jobs.csv has them as pending, and `fairlead why {} JOB` explains each\n",
      summary.pending, summary.jobs_read, flags.policy, flags.out);
  return kJobsLeft;
}

}  // namespace

Command add_simulate(CLI::App& root) {
  CLI::App* app = root.add_subcommand("simulate", "Run one policy on a trace");
  const auto flags = std::make_shared<Flags>();
  add_run_flags(*app, *flags,
                "folder of the result files, created if missing (default: out/POLICY)");
  app->add_option("--policy", flags->policy, "policy with its options (fairlead policies)")
      ->required()
      ->type_name("NAME[:OPT=V,...]");
  app->add_flag("--only-summary", flags->only_summary,
                "write summary.json and run.json, and no other file");
  app->footer(std::string(kExamples) + "\n" + settings_help());
  const auto exit_code = std::make_shared<int>(0);
  return {app,
          [app, flags, exit_code]() -> Status {
            FL_TRY(save_run_file(*app));
            if (flags->decision_budget > 0)
              flags->policy = with_budget(flags->policy, flags->decision_budget);
            if (app->count("--out") == 0)
              flags->out = "out/" + folder_names({flags->policy}).front();
            FL_TRY_ASSIGN(code, simulate(*flags));
            *exit_code = code;
            return {};
          },
          exit_code};
}

}  // namespace fairlead
