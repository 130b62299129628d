// `fairlead why`: explains a job of the daemon, a Job on Kubernetes, or a finished run.

#include "fairlead/base/printable.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/cli/why_text.h"
#include "fairlead/journal/journal.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>

#include <filesystem>

namespace fairlead {
namespace {

struct WhyFlags {
  std::string socket;
  std::string what;  // a job, or the folder of a finished run
  std::string job;   // a job of the finished run
  bool json = false;
  bool is_verbose = false;
  SchedulerFlags scheduler;
};

// Returns whether the argument is a result folder or a journal.
bool is_finished_run(const std::string& what) {
  std::error_code ignored;
  const std::filesystem::path path = what;
  return std::filesystem::is_regular_file(path, ignored) ||
         std::filesystem::is_regular_file(path / kJournalName, ignored);
}

Status why_of_run(const WhyFlags& flags) {
  if (flags.job.empty()) {
    FL_TRY_ASSIGN(why, why_run(flags.what));
    fmt::print("{}", flags.json ? why_run_json(why) : why_run_text(why, stdout_style()));
    return {};
  }
  FL_TRY_ASSIGN(why, why_job(flags.what, flags.job));
  fmt::print("{}", flags.json ? why_job_json(why) : why_job_text(why, stdout_style()));
  return {};
}

Status why_now(const WhyFlags& flags) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(id, daemon.job_named(flags.what));
  FL_TRY_ASSIGN(answer, daemon.get(job_target(id, flags.is_verbose ? "why?verbose=1" : "why")));
  if (!answer.is_object() || !answer.contains("lines") || !answer["lines"].is_array())
    return run_error("the fairlead daemon's answer has no lines");
  for (const auto& line : answer["lines"])
    if (line.is_string()) fmt::print("{}\n", printable(line.get<std::string>()));
  return {};
}

Status why(const WhyFlags& flags) {
  if (is_finished_run(flags.what)) return why_of_run(flags);
  std::error_code ignored;
  if (!flags.job.empty() || flags.json || std::filesystem::is_directory(flags.what, ignored))
    return input_error("it has no {}, so it is not a finished run: {}", kJournalName, flags.what);
  const bool is_on_kubernetes = flags.what.find('/') != std::string::npos;
  return is_on_kubernetes ? why_on_kubernetes(flags.scheduler, flags.what) : why_now(flags);
}

constexpr std::string_view kHelp =
    "Examples:\n"
    "  fairlead why 12                 a job of the daemon\n"
    "  fairlead why vision/train       a Job on Kubernetes\n"
    "  fairlead why out/srtf           causes of the waits in a finished run: the longest\n"
    "                                  waits, and who starved\n"
    "  fairlead why out/srtf job-17    why a job of it waited, piece by piece\n"
    "\n"
    "For a finished run everything comes from its journal. Each moment of a wait has one cause;\n"
    "docs/why.md describes how causes are found, and which waiting has no known cause.\n";

}  // namespace

Command add_why(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "why",
      "Explain why a job waits, or has moved or ended; or why jobs of a finished run waited");
  const auto flags = std::make_shared<WhyFlags>();
  app->add_option("JOB|DIR", flags->what,
                  "number of a job of the daemon, or its name if only one job of yours has it; "
                  "or a result folder, or the journal in it")
      ->required();
  app->add_option("JOB", flags->job, "of DIR: the name of the job in the trace");
  app->add_flag("--json", flags->json, "of DIR: print JSON instead of text");
  app->add_flag("--verbose", flags->is_verbose, "also the policy's notes on the job");
  add_socket_flag(*app, flags->socket);
  add_scheduler_flags(*app, flags->scheduler);
  app->footer(std::string(kHelp));
  return {app, [flags] { return why(*flags); }};
}

}  // namespace fairlead
