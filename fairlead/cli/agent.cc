// `fairlead agent`: the agent on each node, which measures the speeds of pods, and lets pods share GPUs by turns in place.

#include "fairlead/agent/agent.h"

#include "fairlead/agent/cgroup_freezer.h"
#include "fairlead/cli/commands.h"
#include "fairlead/kube/open_cluster.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead {
namespace {

struct Flags {
  std::string context;
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string logs = "/var/log/pods";
  AgentOptions agent;
};

// The cgroups of a node without slots: no pod is frozen there.
class NoFreezer : public PodFreezer {
 public:
  PodState state(const std::string&) override { return PodState::kNone; }
  Status set(const std::string&, bool) override { return {}; }
  std::vector<std::string> frozen() override { return {}; }
};

constexpr std::string_view kHelp =
    "Measures the speeds of Fairlead's pods on a Kubernetes node, from the progress that their\n"
    "programs print, and reports each in the pod's annotation fairlead.dev/progress, at most once\n"
    "a minute. Policies of `fairlead serve --backend kubernetes` then know the speeds of models "
    "on\n"
    "the types of GPUs (docs/kubernetes.md, \"Measured speeds\"). One agent runs on each node, "
    "with\n"
    "the folder in which its kubelet stores the output of pods:\n"
    "\n"
    "  fairlead agent --node $(NODE_NAME)\n"
    "\n"
    "With slots, several gangs stay on the same GPUs of the node and run by turns: those whose\n"
    "turn it is not are frozen in place, so a turn costs no restart. Pods that take part ask for\n"
    "slots instead of GPUs,\n"
    "\n"
    "  resources: {limits: {fairlead.dev/gpu-slot: 2}}      two GPUs, which may be shared\n"
    "\n"
    "and the scheduler names the GPUs in the annotation fairlead.dev/gpus (docs/kubernetes.md,\n"
    "\"Turns in place\"). The agent then runs as root, with the host's cgroups:\n"
    "\n"
    "  fairlead agent --node $(NODE_NAME) --slots-per-gpu 3\n"
    "\n"
    "It advertises the node's slots, and freezes and thaws pods when the scheduler asks. It thaws\n"
    "a pod that is being deleted, all pods if no scheduler was active for a minute, and all pods\n"
    "before it leaves. After a crash the next agent continues from the state of the cgroups.\n";

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Status run(const Flags& flags) {
  AgentOptions agent = flags.agent;
  const bool has_slots = agent.slots_per_gpu > 0;
  if (has_slots && !is_folder(flags.cgroup_root))
    return input_error("--cgroup-root: there is no folder {}", flags.cgroup_root);
  if (is_folder(flags.logs)) agent.logs = flags.logs;
  if (!has_slots && agent.logs.empty())
    return input_error("--logs: there is no folder {}", flags.logs);
  FL_TRY_ASSIGN(cluster, open_cluster(flags.context));
  const auto say = [](const std::string& line) {
    fmt::print("fairlead: {}\n", line);
    std::fflush(stdout);
  };
  CgroupFreezer cgroups(flags.cgroup_root);
  NoFreezer none;
  say(fmt::format("agent of node {} by the API server at {}", agent.node, cluster.server));
  if (agent.logs.empty())
    say(fmt::format("measures no speeds: there is no folder {} (--logs)", flags.logs));
  run_agent(*cluster.door, has_slots ? static_cast<PodFreezer&>(cgroups) : none, agent, say);
  say("stopped; no pod is frozen");
  return {};
}

}  // namespace

Command add_agent(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "agent",
      "Measure the speeds of pods on a Kubernetes node, and freeze and thaw them by turns");
  const auto flags = std::make_shared<Flags>();
  app->add_option("--node", flags->agent.node, "name of the node on the API server")
      ->required()
      ->envname("NODE_NAME");
  app->add_option("--slots-per-gpu", flags->agent.slots_per_gpu,
                  "how many gangs may stay on a GPU; the memory of all is in use at once; 0: the "
                  "node has no slots")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app->add_option("--gpus", flags->agent.gpus,
                  "GPUs of the node (default: as many nvidia.com/gpu as it offers)")
      ->check(CLI::Range(1, 64));
  app->add_option("--logs", flags->logs, "where the kubelet stores the output of pods")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_option("--cgroup-root", flags->cgroup_root,
                  "mount point of the host's cgroups; of nodes with slots")
      ->type_name("DIR")
      ->capture_default_str();
  app->add_option("--context", flags->context,
                  "context of the kubeconfig (default: the current one)");
  app->add_option("--namespace", flags->agent.name_space, "namespace of the scheduler's Lease")
      ->capture_default_str();
  app->footer(std::string(kHelp));
  return {app, [flags] { return run(*flags); }};
}

}  // namespace fairlead
