// `fairlead agent`: the agent on each node of a pool in which pods share GPUs by turns in place.

#include "fairlead/agent/agent.h"

#include "fairlead/agent/cgroup_freezer.h"
#include "fairlead/cli/commands.h"
#include "fairlead/kube/open_cluster.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace fairlead {
namespace {

struct Flags {
  std::string context;
  std::string cgroup_root = "/sys/fs/cgroup";
  AgentOptions agent;
};

constexpr std::string_view kHelp =
    "Lets several gangs stay on the same GPUs of a Kubernetes node and run by turns: those whose "
    "turn\n"
    "it is not are frozen in place, so a turn costs no restart. Pods that take part ask for slots\n"
    "instead of GPUs,\n"
    "\n"
    "  resources: {limits: {fairlead.dev/gpu-slot: 2}}      two GPUs, which may be shared\n"
    "\n"
    "and `fairlead serve --backend kubernetes` names the GPUs in the annotation\n"
    "fairlead.dev/gpus (docs/kubernetes.md, \"Turns in place\"). One agent runs on each node\n"
    "of the pool, as root, with the host's cgroups:\n"
    "\n"
    "  fairlead agent --node $(NODE_NAME) --slots-per-gpu 3\n"
    "\n"
    "Advertises the node's slots; freezes and thaws pods when the scheduler asks. It thaws a pod\n"
    "that is being deleted, all pods if no scheduler was active for a minute, and all pods before\n"
    "it leaves. After a crash the next agent continues from the state of the cgroups.\n";

Status run(const Flags& flags) {
  std::error_code error;
  if (!std::filesystem::is_directory(flags.cgroup_root, error))
    return input_error("--cgroup-root: there is no folder {}", flags.cgroup_root);
  FL_TRY_ASSIGN(cluster, open_cluster(flags.context));
  const auto say = [](const std::string& line) {
    fmt::print("fairlead: {}\n", line);
    std::fflush(stdout);
  };
  CgroupFreezer freezer(flags.cgroup_root);
  say(fmt::format("agent of node {} by the API server at {}", flags.agent.node, cluster.server));
  run_agent(*cluster.door, freezer, flags.agent, say);
  say("stopped; no pod is frozen");
  return {};
}

}  // namespace

Command add_agent(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("agent", "Freeze and thaw the pods of a Kubernetes node, by turns");
  const auto flags = std::make_shared<Flags>();
  app->add_option("--node", flags->agent.node, "name of the node on the API server")
      ->required()
      ->envname("NODE_NAME");
  app->add_option("--slots-per-gpu", flags->agent.slots_per_gpu,
                  "how many gangs may stay on a GPU; the memory of all is in use at once")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--gpus", flags->agent.gpus,
                  "GPUs of the node (default: as many nvidia.com/gpu as it offers)")
      ->check(CLI::Range(1, 64));
  app->add_option("--cgroup-root", flags->cgroup_root, "mount point of the host's cgroups")
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
