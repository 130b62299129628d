// The subcommands of `fairlead`. Each add_* function declares one with its flags and help, and returns the function
// that runs it after the command line was parsed.
#pragma once

#include "fairlead/base/result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fairlead {

struct Command {
  CLI::App* app;
  std::function<Status()> run;
  std::shared_ptr<const int> exit_code{};  // exit code after success; null: 0
};

Command add_simulate(CLI::App& root);
Command add_compare(CLI::App& root);
Command add_capacity(CLI::App& root);
Command add_reproduce(CLI::App& root);
Command add_report(CLI::App& root);
Command add_replay(CLI::App& root);
Command add_policies(CLI::App& root);
Command add_clusters(CLI::App& root);
Command add_torture(CLI::App& root);
// Adds `models` with its subcommands.
std::vector<Command> add_models(CLI::App& root);
// inspect, convert and generate, below one `trace`.
std::vector<Command> add_trace(CLI::App& root);
// slurm and kubernetes, below one `import`.
std::vector<Command> add_import(CLI::App& root);
// verify, dump and repair, below one `journal`.
std::vector<Command> add_journal(CLI::App& root);

// Commands about this program. `root` must outlive the returned commands.
Command add_completion(CLI::App& root);
Command add_man(CLI::App& root);

// The daemon itself.
Command add_serve(CLI::App& root);
// The agent that runs on each node beside the daemon, on Kubernetes.
Command add_agent(CLI::App& root);
// Commands that query a daemon. `words`: of the command line behind --, which CLI11 would read as lists if they have
// brackets; read when the command runs.
Command add_run(CLI::App& root, const std::vector<std::string>& words);
Command add_submit(CLI::App& root, const std::vector<std::string>& words);
// The tracker that wraps the command of a job with copies.
Command add_tracker(CLI::App& root, const std::vector<std::string>& words);
// A copy whose tracker is on another machine.
Command add_copy(CLI::App& root, const std::vector<std::string>& words);
// The container of a job, whose command it wraps.
Command add_container(CLI::App& root, const std::vector<std::string>& words);
Command add_ps(CLI::App& root);
Command add_top(CLI::App& root);
Command add_page(CLI::App& root);
Command add_usage(CLI::App& root);
Command add_logs(CLI::App& root);
Command add_why(CLI::App& root);
Command add_when(CLI::App& root, const std::vector<std::string>& words);
Command add_whatif(CLI::App& root);
// cancel, hold and release.
std::vector<Command> add_job_actions(CLI::App& root);
// Adds `users` and `gpus` with their subcommands.
std::vector<Command> add_users_and_gpus(CLI::App& root);
// Adds `reservations` with its subcommands.
std::vector<Command> add_reservations(CLI::App& root);

// Prints the jobs of the running daemon in a table. Error: there is no daemon.
Status show_queue();

}  // namespace fairlead
