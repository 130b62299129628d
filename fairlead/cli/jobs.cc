// `fairlead logs | cancel | hold | release | priority`: commands for single jobs.

#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/follow.h"
#include "fairlead/cli/live_text.h"

#include <fmt/format.h>

#include <cstdio>

namespace fairlead {
namespace {

constexpr const char* kJobHelp = "number of the job, or its name if only one job of yours has it";

struct JobFlags {
  std::string socket, job;
  bool follows = false;
};

Status logs(const JobFlags& flags) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(id, daemon.job_named(flags.job));
  FL_TRY_ASSIGN(job, daemon.job(id));
  if (job.log.empty())
    return input_error("the output of a job is for its user and for administrators: {}", id);
  if (!flags.follows) return print_log(job);
  FL_TRY_ASSIGN(ended, follow_job(flags.socket, job));
  fmt::print(stderr, "fairlead: {}\n", end_text(ended));
  return {};
}

struct ActionFlags {
  std::string socket;
  std::vector<std::string> jobs;
  std::string priority;
};

// Tries all of them; returns the first error, and prints the others. `body`: of each request.
Status act(const ActionFlags& flags, const std::string& action,
           const nlohmann::json& body = nlohmann::json()) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  Status first;
  const auto note = [&](const Error& error) {
    if (!first) fmt::print(stderr, "fairlead: {}\n", error.message);
    if (first) first = tl::unexpected(error);
  };
  for (const std::string& jobs : flags.jobs) {
    const auto ids = daemon.jobs_named(jobs);
    if (!ids) {
      note(ids.error());
      continue;
    }
    for (const std::int64_t id : *ids) {
      if (const auto answer = daemon.post(job_target(id, action), body); !answer)
        note(answer.error());
    }
  }
  return first;
}

}  // namespace

Command add_logs(CLI::App& root) {
  CLI::App* app = root.add_subcommand("logs", "Print the output of a job");
  const auto flags = std::make_shared<JobFlags>();
  app->add_option("JOB", flags->job, kJobHelp)->required();
  app->add_flag("-f,--follow", flags->follows, "follow the output until the job ends");
  add_socket_flag(*app, flags->socket);
  app->footer("Example:\n  fairlead logs -f 12\n");
  return {app, [flags] { return logs(*flags); }};
}

std::vector<Command> add_job_actions(CLI::App& root) {
  const std::pair<std::string, std::string> actions[] = {
      {"cancel", "End jobs, or take them out of the queue"},
      {"hold", "Let jobs wait until they are released; one that runs leaves its GPUs"},
      {"release", "Let held jobs run again"}};
  std::vector<Command> commands;
  for (const auto& [name, help] : actions) {
    CLI::App* app = root.add_subcommand(name, help);
    const auto flags = std::make_shared<ActionFlags>();
    app->add_option("JOB", flags->jobs, fmt::format("{}; or a range of numbers", kJobHelp))
        ->required();
    add_socket_flag(*app, flags->socket);
    app->footer(fmt::format("Example:\n  fairlead {} 12 14-20\n", name));
    commands.push_back({app, [flags, name = name] { return act(*flags, name); }});
  }
  CLI::App* app =
      root.add_subcommand("priority", "Change the order of jobs among their user's own jobs");
  const auto flags = std::make_shared<ActionFlags>();
  app->add_option("PRIORITY", flags->priority,
                  "as of `fairlead submit --priority`; only administrators make jobs "
                  "urgent")
      ->check(CLI::IsMember({"low", "normal", "high", "urgent"}))
      ->required();
  app->add_option("JOB", flags->jobs, fmt::format("{}; or a range of numbers", kJobHelp))
      ->required();
  add_socket_flag(*app, flags->socket);
  app->footer("Example:\n  fairlead priority high 12 14-20\n");
  commands.push_back({app, [flags] {
                        return act(*flags, "priority", {{"priority", flags->priority}});
                      }});
  return commands;
}

}  // namespace fairlead
