// `fairlead when`: a forecast.

#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/forecast.h"
#include "fairlead/cli/live_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

Status when(const std::string& socket, const std::string& name) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(socket));
  FL_TRY_ASSIGN(id, daemon.job_named(name));
  FL_TRY_ASSIGN(cluster, daemon.cluster());
  FL_TRY_ASSIGN(users, daemon.get("/v1/users"));
  FL_TRY_ASSIGN(jobs, daemon.jobs("all=1"));
  const auto job = std::ranges::find(jobs, id, &JobAnswer::id);
  if (job == jobs.end())
    return input_error("there is no such job; `fairlead ps -a` lists them: {}", id);
  if (job->is_done()) {
    fmt::print("{}\n", end_text(*job));
    return {};
  }
  if (job->state == "held") {
    fmt::print("job {} is held; `fairlead release {}` lets it run\n", id, id);
    return {};
  }
  FL_TRY_ASSIGN(answer, forecast(cluster, jobs, user_answers(users), id));
  fmt::print("{}", forecast_text(answer, id, cluster.now_unix_ms));
  return {};
}

}  // namespace

Command add_when(CLI::App& root) {
  CLI::App* app = root.add_subcommand("when", "Forecast when a job starts and ends");
  struct Flags {
    std::string socket, job;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("JOB", flags->job, "its number, or its name where only one job of yours has it")
      ->required();
  add_socket_flag(*app, flags->socket);
  app->footer(
      "Example:\n"
      "  fairlead when 12\n"
      "\n"
      "Simulates the daemon's policy on the jobs that are here now, and says what it takes for "
      "granted:\n"
      "how long each of them still takes. The policy is begun anew; the shares that it owes are "
      "not known.\n");
  return {app, [flags] { return when(flags->socket, flags->job); }};
}

}  // namespace fairlead
