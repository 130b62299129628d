// The daemon as a command: its options, and the loop.

#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/hook.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/cli/service.h"
#include "fairlead/io/real_io.h"
#include "fairlead/live/live_policy.h"
#include "fairlead/policy/registry.h"
#include "fairlead/serve/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace fairlead {
namespace {

struct Flags {
  std::string backend = "local";
  std::string context;
  std::string name_space = "fairlead";
  std::vector<std::string> rack_labels;
  std::vector<std::string> levels;
  std::string priority_scope = "user";
  std::vector<std::string> queues;
  std::string nodes;
  std::string gpus;
  std::uint32_t node_gpus = kNodeGpusMax;
  std::string folder;
  std::string socket;
  std::string http;
  std::string policy;
  std::int64_t decision_budget = kLiveBudget;
  double grace_s = 60;
  std::uint64_t log_mb = 1000;
  std::string keep;
  std::string notify;
  std::string foreign = "warn";
  std::uint64_t seed = 0;
  bool use_signals = false;
  bool has_no_hook = false;
  bool install = false;
  bool uninstall = false;
};

constexpr std::string_view kHelp =
    "Runs the jobs of this machine's users on its GPUs, by turns if there are not enough, and\n"
    "explains each decision. It needs no configuration: `sudo fairlead serve`, then, as any user,\n"
    "\n"
    "  fairlead run -g 1 -- python train.py      (fairlead run --help)\n"
    "  fairlead                                  running jobs with their GPUs, waiting jobs\n"
    "\n"
    "As a service that starts with the machine: `sudo fairlead serve --install`.\n"
    "\n"
    "It may be stopped and started at any time: jobs run on meanwhile. Without root it serves\n"
    "only its own user. Without GPUs, it can simulate them:\n"
    "\n"
    "  fairlead serve --nodes 4xV100,4xK80@0.25\n"
    "\n"
    "On Kubernetes it schedules Jobs with `schedulerName: fairlead` (docs/kubernetes.md):\n"
    "\n"
    "  fairlead serve --backend kubernetes --policy fairlead:window_s=3600,round_s=600\n"
    "\n"
    "With Kueue, which admits Workloads within its quotas, it lets users take turns:\n"
    "\n"
    "  fairlead serve --backend kueue\n"
    "\n"
    "docs/lab-server.md describes the setup of a bare machine; `fairlead policies` lists the "
    "policies.\n";

// Turns last half an hour, because each costs a restart.
constexpr std::string_view kKubernetesPolicy = "fairlead:window_s=3600,round_s=1800,switch_s=1800";

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
  constexpr std::uint64_t kMb = 1'000'000;
  options.log_bytes = flags.log_mb * kMb;
  if (!options.socket.empty()) return options;
  const bool is_system = ::geteuid() == 0 && flags.folder.empty();
  if (!is_system) return options;
  std::error_code error;
  std::filesystem::create_directories("/run/fairlead", error);
  if (error) return run_error("/run/fairlead: {}", error.message());
  options.socket = "/run/fairlead/socket";
  return options;
}

Result<Machine> machine_of(const Flags& flags) {
  auto machine = flags.nodes.empty() ? driver_machine({}, flags.node_gpus)
                                     : stand_in_machine(flags.nodes, flags.node_gpus);
  if (machine) {
    machine->host = host_size();
    FL_TRY(serve_only(flags.gpus, *machine));
    return machine;
  }
  if (!flags.nodes.empty()) return machine;
  return input_error("{}; to try it without, simulate some: fairlead serve --nodes 4xGPU",
                     machine.error().message);
}

// Returns the given flags, in the form for a service that is started in another folder.
std::vector<std::string> given_flags(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--install" || name == "--uninstall") continue;
    words.push_back(name);
    if (option->get_items_expected_max() == 0) continue;  // it has no value
    const bool is_path = name == "--folder" || name == "--socket";
    const std::string value = option->results().front();
    words.push_back(is_path ? std::filesystem::absolute(value).string() : value);
  }
  return words;
}

// Reports errors that would prevent the start of the service now.
Status install(const CLI::App& app, const Flags& flags) {
  FL_TRY(machine_of(flags));
  FL_TRY(parse_policy(flags.policy, flags.seed));
  return install_service(given_flags(app));
}

// Returns the port of --http, "127.0.0.1:8080"; 0: none was given.
Result<std::uint16_t> port_of(std::string_view address) {
  if (address.empty()) return std::uint16_t{0};
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const std::string_view host = address.substr(0, colon);
  if (host != "127.0.0.1" && host != "localhost") {
    return input_error(
        "--http takes only 127.0.0.1:PORT, because its traffic is not encrypted; from another "
        "machine, use `ssh -L 8080:127.0.0.1:PORT`: {}",
        address);
  }
  const auto port = parse_integer(address.substr(std::min(colon + 1, address.size())));
  if (port && *port >= 1 && *port <= 65535) return static_cast<std::uint16_t>(*port);
  return input_error("--http is like 127.0.0.1:8080: {}", address);
}

// Returns the token in the folder; creates it the first time.
Result<std::string> http_token(Io& io) {
  constexpr const char* kFile = "http-token";
  const std::string kept = io.read(kFile).value_or("");
  if (std::string line = kept.substr(0, kept.find_first_of(" \t\r\n")); !line.empty()) return line;
  std::array<unsigned char, 32> random;
  if (::getentropy(random.data(), random.size()) != 0)
    return run_error("the system has no random numbers: {}", std::strerror(errno));
  std::string token = fmt::format("{:02x}", fmt::join(random, ""));
  FL_TRY(io.write(kFile, token + "\n"));
  return token;
}

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

void report_missing_limits(const RealIo& io) {
  const std::vector<std::string> missing = io.missing_limits();
  if (missing.empty()) return;
  fmt::print(stderr,
             "fairlead: jobs are not limited in {}: this needs root, and cgroups that limit it\n",
             fmt::join(missing, ", "));
}

Result<OnForeign> on_foreign_of(const Flags& flags) {
  if (flags.foreign == "charge") return OnForeign::kCharge;
  if (flags.foreign != "end") return OnForeign::kNothing;
  if (::geteuid() != 0)
    return input_error("--foreign end: only root can end the processes of others");
  return OnForeign::kEnd;
}

Status serve_locally(const CLI::App& app, const Flags& flags) {
  FL_TRY_ASSIGN(port, port_of(flags.http));
  if (flags.install) return install(app, flags);
  if (flags.uninstall) return uninstall_service();
  FL_TRY_ASSIGN(options, io_options(flags));
  options.port = port;
  FL_TRY_ASSIGN(machine, machine_of(flags));
  const std::string gpus = gpus_text(machine);
  FL_TRY_ASSIGN(on_foreign, on_foreign_of(flags));
  options.has_gpus = flags.nodes.empty();
  FL_TRY_ASSIGN(io, RealIo::open(options));
  report_missing_limits(*io);
  ServeOptions given{.machine = std::move(machine),
                     .policy = flags.policy,
                     .seed = flags.seed,
                     .grace = Duration{static_cast<std::int64_t>(flags.grace_s * 1000)},
                     .on_foreign = on_foreign};
  if (!flags.notify.empty()) {
    given.notify = flags.notify;
    given.host = host_name();
  }
  if (!flags.keep.empty()) {
    FL_TRY_ASSIGN(keep_s, parse_span_s(flags.keep));
    given.keep = Duration{std::llround(keep_s * 1000)};
  }
  if (!flags.has_no_hook) {
    FL_TRY_ASSIGN(hook, write_hook(options.folder));
    given.hook = hook.string();
  }
  if (port != 0) {
    given.http_address = fmt::format("127.0.0.1:{}", port);
    FL_TRY_ASSIGN(token, http_token(*io));
    given.http_token = std::move(token);
  }
  FL_TRY_ASSIGN(server, Server::open(*io, std::move(given)));
  const std::filesystem::path socket =
      options.socket.empty() ? options.folder / "socket" : options.socket;
  fmt::print("fairlead: {} under {}; {} {}; clients at {}{}\n", gpus, flags.policy,
             options.folder.string(), server->beginning(), socket.string(),
             port == 0 ? "" : fmt::format("; a page at port {} (fairlead page)", port));
  std::fflush(stdout);
  for (;;) {
    FL_TRY_ASSIGN(goes_on, server->step());
    if (!goes_on) break;
  }
  fmt::print("fairlead: stopped; jobs run on\n");
  return {};
}

Status serve(const CLI::App& app, const Flags& flags) {
  if (flags.backend == "local") return serve_locally(app, flags);
  const KubernetesFlags cluster{.context = flags.context,
                                .name_space = flags.name_space,
                                .policy = flags.policy,
                                .rack_labels = flags.rack_labels,
                                .levels = flags.levels,
                                .priority_scope = flags.priority_scope,
                                .is_kueue = flags.backend == "kueue",
                                .queues = flags.queues,
                                .seed = flags.seed,
                                .http = flags.http};
  return flags.uninstall ? leave_kubernetes(cluster) : serve_kubernetes(cluster);
}

constexpr const char* kUninstallHelp =
    "stop that service and remove it; jobs run on. On Kubernetes: resume the jobs that a scheduler "
    "suspended, once none leads";

// Adds the options about jobs on this machine, their logs and foreign processes.
void add_job_options(CLI::App& app, Flags& flags) {
  app.add_option("--grace", flags.grace_s,
                 "time for a job that must move to write a checkpoint, from SIGTERM to SIGKILL")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  add_whole_number(
      app, "--log-mb", flags.log_mb,
      "megabytes of the disk that the log of a job may have; the older part of a longer "
      "one is removed (0: any number)")
      ->capture_default_str();
  app.add_option("--keep", flags.keep,
                 "how long the logs of ended jobs are kept, like 90d (default: for ever)")
      ->type_name("TIME");
  app.add_option("--foreign", flags.foreign,
                 "what happens to processes on the GPUs that are of no job, or of a job with other "
                 "GPUs: they are named, or also ended five minutes later, or their users also pay "
                 "for the GPU time")
      ->check(CLI::IsMember({"warn", "end", "charge"}).description(""))
      ->type_name("warn|end|charge")
      ->capture_default_str();
  app.add_option("--notify", flags.notify,
                 "shell command for the end of each job that asks for it (submit --notify), as "
                 "the daemon's user: /usr/share/fairlead/notify-mail sends mail, and "
                 "notify-webhook there posts to an address (default: none)")
      ->type_name("COMMAND");
}

// Adds the options of --backend kubernetes.
void add_cluster_options(CLI::App& app, Flags& flags) {
  app.add_option("--context", flags.context,
                 "context of the kubeconfig (default: the current one)");
  app.add_option("--namespace", flags.name_space,
                 "namespace of the Lease and the ConfigMap `fairlead` on Kubernetes")
      ->capture_default_str();
  CLI::Option* const rack =
      app.add_option(
             "--rack-label", flags.rack_labels,
             "label of Kubernetes nodes with their rack; may be repeated, and a node's first "
             "one counts (default: the usual ones)")
          ->type_name("KEY")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--levels", flags.levels,
                 "labels of Kubernetes nodes with their places in the network, outer to inner; the "
                 "last has the rack, and jobs may require or prefer each")
      ->type_name("KEY,KEY,...")
      ->delimiter(',')
      ->excludes(rack);
  app.add_option("--priority-scope", flags.priority_scope,
                 "priority classes order the jobs of a Kubernetes namespace (user) or of all "
                 "namespaces (cluster), where a job then also leaves its GPUs for another user's")
      ->check(CLI::IsMember({"user", "cluster"}))
      ->capture_default_str();
  app.add_option("--queue", flags.queues,
                 "ClusterQueue of Kueue whose Workloads take turns; may be repeated (default: all "
                 "with a quota of GPUs)")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

Command add_serve(CLI::App& root) {
  CLI::App* app = root.add_subcommand("serve", "Run jobs on this machine's GPUs, by turns");
  const auto flags = std::make_shared<Flags>();
  app->add_option(
         "--backend", flags->backend,
         "the jobs run on this machine, on a Kubernetes cluster, or there as Kueue admits them")
      ->check(CLI::IsMember({"local", "kubernetes", "kueue"}))
      ->capture_default_str();
  add_cluster_options(*app, *flags);
  app->add_option("--nodes", flags->nodes, "simulated GPUs, each type with its relative speed")
      ->type_name("NxTYPE[@SPEED],...");
  app->add_option(
         "--node-gpus", flags->node_gpus,
         "GPUs that count as one node at most (default: all of a type); a job that trains as "
         "copies has one a node")
      ->type_name("N")
      ->check(CLI::Range(1U, kNodeGpusMax));
  app->add_option(
         "--gpus", flags->gpus,
         "the GPUs that jobs may have, by the numbers or UUIDs of `nvidia-smi -L` (default: "
         "all)")
      ->type_name("0-5,7");
  app->add_option("--policy", flags->policy,
                  fmt::format("policy with its options, by fairlead policies (default: {}; on "
                              "Kubernetes {})",
                              kLocalPolicy, kKubernetesPolicy))
      ->type_name("NAME[:OPT=V,...]");
  auto* budget =
      app->add_option("--decision-budget", flags->decision_budget, std::string(kBudgetHelp))
          ->check(at_least(0))
          ->type_name("N")
          ->capture_default_str();
  app->add_option("--folder", flags->folder,
                  "folder of its journal and of the jobs' logs (root: /var/lib/fairlead)")
      ->type_name("DIR");
  app->add_option("--socket", flags->socket, "socket for clients (root: /run/fairlead/socket)")
      ->type_name("PATH");
  app->add_option("--http", flags->http,
                  "also serve the page and its data over TCP, read-only, to clients on this "
                  "machine with its token (fairlead page); on Kubernetes metrics, health and the "
                  "data of jobs, read-only, to all clients that reach ADDRESS")
      ->type_name("ADDRESS:PORT");
  add_job_options(*app, *flags);
  add_whole_number(*app, "--seed", flags->seed, "seed of all random draws of the policy")
      ->capture_default_str();
  app->add_flag("--signals", flags->use_signals,
                "suspend jobs by SIGSTOP, even if cgroups could freeze them");
  app->add_flag("--no-hook", flags->has_no_hook,
                "start the jobs' Python processes without the hook that counts optimizer steps");
  auto* install = app->add_flag("--install", flags->install,
                                "make it a service of systemd, with these flags, and start it");
  app->add_flag("--uninstall", flags->uninstall, kUninstallHelp)->excludes(install);
  app->footer(std::string(kHelp));
  return {app, [app, flags, budget] {
            if (flags->policy.empty()) {
              flags->policy = flags->backend == "local" ? kLocalPolicy : kKubernetesPolicy;
            }
            if (budget->count() > 0)
              flags->policy = with_budget(flags->policy, flags->decision_budget);
            return serve(*app, *flags);
          }};
}

}  // namespace fairlead
