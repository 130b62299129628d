// The command line. Exit codes: 0 done, 1 the run failed, 2 bad usage or input.

#include "cli/commands.h"
#include "report/json.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

namespace fairlead {
namespace {

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

int report(const Error& error) {
  fmt::print(stderr, "fairlead: {}\n", error.message);
  return error.kind == Error::Kind::kInput ? kBadInput : kRunFailed;
}

// What was printed may still be in a buffer, and the disk full.
Status flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return run_error("cannot write to standard output");
}

std::vector<Command> add_commands(CLI::App& root) {
  std::vector<Command> commands = {add_simulate(root), add_compare(root), add_policies(root),
                                   add_clusters(root)};
  for (Command& command : add_trace(root)) commands.push_back(std::move(command));
  return commands;
}

int run_command(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const Status status = command.run(); !status) return report(status.error());
    if (const Status status = flush_output(); !status) return report(status.error());
    return 0;
  }
  return kBadInput;
}

int run(int argc, char** argv) {
  CLI::App root("Fairlead schedules deep-learning training on shared GPU clusters.", "fairlead");
  root.set_version_flag("--version", fmt::format("fairlead {}", version()));
  root.require_subcommand(1);
  root.footer(
      "Examples:\n"
      "  fairlead simulate --cluster 4xV100:8 --trace jobs.csv --policy fifo --out out\n"
      "  fairlead compare --cluster slides --trace jobs.csv --policies \"fifo;las\" --out out\n"
      "  fairlead simulate --help\n");
  const std::vector<Command> commands = add_commands(root);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    fmt::print(stderr, "fairlead: {}\nTry: fairlead --help\n", error.what());
    return kBadInput;
  }
  return run_command(commands);
}

}  // namespace
}  // namespace fairlead

int main(int argc, char** argv) {
  try {
    return fairlead::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("fairlead: out of memory\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fairlead: {}\n", error.what());
  }
  return fairlead::kRunFailed;
}
