// `fairlead tracker`: the wrapper of the command of a job that trains as copies.

#include "fairlead/copies/tracker.h"

#include "fairlead/cli/commands.h"
#include "fairlead/cli/run_flags.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

namespace fairlead {
namespace {

constexpr std::string_view kHelp =
    "`fairlead submit --copies max -- COMMAND` starts it; it is not for terminals. It starts\n"
    "COMMAND once for each copy that the daemon gave the job (FAIRLEAD_COPIES). In each round it\n"
    "gives each copy a number of steps, by the speed of its GPUs, and then consolidates their\n"
    "parameters. docs/copies.md describes the protocol of a trainer.\n"
    "\n"
    "To try a trainer by hand:\n"
    "  FAIRLEAD_COPIES='[{\"gpus\":[\"0\"],\"gpu_type\":\"V100\",\"speed\":1},\n"
    "                    {\"gpus\":[\"1\"],\"gpu_type\":\"K80\",\"speed\":0.2}]' \\\n"
    "    fairlead tracker -- python train.py\n";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Flags {
  std::uint64_t round_steps = 0;
  bool is_plain = false;
  std::string folder;
};

Result<int> run(const Flags& flags, const std::vector<std::string>& command) {
  if (command.empty())
    return input_error("name a trainer, as in `fairlead tracker -- python train.py`");
  const std::string given = variable("FAIRLEAD_COPIES");
  if (given.empty())
    return input_error(
        "FAIRLEAD_COPIES is not set: `fairlead submit --copies max -- COMMAND` sets it");
  FL_TRY_ASSIGN(copies, parse_copies(given));
  const std::string job = variable("FAIRLEAD_JOB_ID");
  const std::filesystem::path folder =
      flags.folder.empty() ? fmt::format("copies-{}", job.empty() ? "0" : job) : flags.folder;
  return track({.command = command,
                .copies = std::move(copies),
                .folder = std::filesystem::absolute(folder),
                .round_steps = flags.round_steps,
                .is_plain = flags.is_plain,
                .now_s = now_s,
                .progress = variable("FAIRLEAD_PROGRESS")});
}

}  // namespace

Command add_tracker(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = root.add_subcommand(
      "tracker", "Train a job as copies on nodes of unequal speed (submit --copies starts it)");
  const auto flags = std::make_shared<Flags>();
  const auto exit_code = std::make_shared<int>(0);
  app->add_option("--round-steps", flags->round_steps,
                  "steps between two exchanges of parameters, all copies together (default: 50, or "
                  "so many that the exchange takes a twentieth of the time)")
      ->check(at_least(1))
      ->type_name("N");
  app->add_flag("--plain", flags->is_plain,
                "take the plain mean of the copies, without momentum over rounds");
  app->add_option("--folder", flags->folder,
                  "folder of its checkpoint and of the copies' exchange (default: copies-JOB here)")
      ->type_name("DIR");
  app->footer(std::string(kHelp));
  return {app,
          [=, &words]() -> Status {
            FL_TRY_ASSIGN(code, run(*flags, words));
            *exit_code = code;
            return {};
          },
          exit_code};
}

}  // namespace fairlead
