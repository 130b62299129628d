// The subcommands of `fairlead`. Each add_* function declares one with its flags and help, and
// returns what runs it after the command line was parsed.
#pragma once

#include "fairlead/base/result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <vector>

namespace fairlead {

struct Command {
  CLI::App* app;
  std::function<Status()> run;
};

Command add_simulate(CLI::App& root);
Command add_compare(CLI::App& root);
Command add_reproduce(CLI::App& root);
Command add_report(CLI::App& root);
Command add_replay(CLI::App& root);
Command add_policies(CLI::App& root);
Command add_clusters(CLI::App& root);
Command add_torture(CLI::App& root);
// inspect, convert and generate, below one `trace`.
std::vector<Command> add_trace(CLI::App& root);
// verify, dump and repair, below one `journal`.
std::vector<Command> add_journal(CLI::App& root);

}  // namespace fairlead
