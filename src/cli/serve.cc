// The daemon as a command: what is asked of it, and the loop.

#include "fairlead/cli/commands.h"
#include "fairlead/io/real_io.h"
#include "fairlead/serve/server.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace fairlead {
namespace {

struct Flags {
  std::string nodes;
  std::string folder;
  std::string socket;
  std::string policy = "gandiva-fair";
  double grace_s = 60;
  std::uint64_t seed = 0;
  bool use_signals = false;
};

constexpr std::string_view kHelp =
    "Runs the jobs of this machine's users on its GPUs, by turns where there are not enough, and "
    "tells\n"
    "each why. It needs no configuration: `sudo fairlead serve`, then, as any user,\n"
    "\n"
    "  fairlead run -g 1 -- python train.py      (fairlead run --help)\n"
    "  fairlead                                  who holds which GPU, who is next\n"
    "\n"
    "It may be stopped and started at any time: jobs run on meanwhile. Started without root, it "
    "serves\n"
    "its own user alone. Without GPUs, stand-ins can be counted instead:\n"
    "\n"
    "  fairlead serve --nodes 4xV100,4xK80@0.25\n"
    "\n"
    "docs/lab-server.md is the way from a bare machine; `fairlead policies` lists the policies.\n";

std::filesystem::path default_folder() {
  if (::geteuid() == 0) return "/var/lib/fairlead";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "." : home) / ".local/state/fairlead";
}

Result<RealIoOptions> io_options(const Flags& flags) {
  RealIoOptions options;
  options.folder = flags.folder.empty() ? default_folder() : std::filesystem::path(flags.folder);
  options.socket = flags.socket;
  options.use_cgroups = !flags.use_signals;
  if (!options.socket.empty()) return options;
  const bool is_system = ::geteuid() == 0 && flags.folder.empty();
  if (!is_system) return options;
  std::error_code error;
  std::filesystem::create_directories("/run/fairlead", error);
  if (error) return run_error("/run/fairlead: {}", error.message());
  options.socket = "/run/fairlead/socket";
  return options;
}

Status serve(const Flags& flags) {
  FL_TRY_ASSIGN(options, io_options(flags));
  auto machine = flags.nodes.empty() ? nvidia_machine() : stand_in_machine(flags.nodes);
  if (!machine && flags.nodes.empty()) {
    return input_error("{}; to try it without, count stand-ins: fairlead serve --nodes 4xGPU",
                       machine.error().message);
  }
  if (!machine) return tl::unexpected(machine.error());
  const std::string gpus = gpus_text(*machine);
  FL_TRY_ASSIGN(io, RealIo::open(options));
  FL_TRY_ASSIGN(
      server,
      Server::open(*io, {.machine = std::move(*machine),
                         .policy = flags.policy,
                         .seed = flags.seed,
                         .grace = Duration{static_cast<std::int64_t>(flags.grace_s * 1000)}}));
  const std::filesystem::path socket =
      options.socket.empty() ? options.folder / "socket" : options.socket;
  fmt::print("fairlead: {} under {}; {} {}; clients at {}\n", gpus, flags.policy,
             options.folder.string(), server->beginning(), socket.string());
  std::fflush(stdout);
  for (;;) {
    FL_TRY_ASSIGN(goes_on, server->step());
    if (!goes_on) break;
  }
  fmt::print("fairlead: stopped; jobs run on\n");
  return {};
}

}  // namespace

Command add_serve(CLI::App& root) {
  CLI::App* app = root.add_subcommand("serve", "Run jobs on this machine's GPUs, by turns");
  const auto flags = std::make_shared<Flags>();
  app->add_option("--nodes", flags->nodes, "stand-ins for GPUs, each with its relative speed")
      ->type_name("NxTYPE[@SPEED],...");
  app->add_option("--policy", flags->policy, "policy with its options (fairlead policies)")
      ->type_name("NAME[:OPT=V,...]")
      ->capture_default_str();
  app->add_option("--folder", flags->folder,
                  "where its journal and the logs of jobs are (root: /var/lib/fairlead)")
      ->type_name("DIR");
  app->add_option("--socket", flags->socket, "where clients find it (root: /run/fairlead/socket)")
      ->type_name("PATH");
  app->add_option("--grace", flags->grace_s,
                  "what a job that has to move has to write a checkpoint, from SIGTERM to SIGKILL")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app->add_option("--seed", flags->seed, "of all that the policy draws")->capture_default_str();
  app->add_flag("--signals", flags->use_signals,
                "suspend jobs by SIGSTOP, even where cgroups could freeze them");
  app->footer(std::string(kHelp));
  return {app, [flags] { return serve(*flags); }};
}

}  // namespace fairlead
