// `fairlead import slurm | kubernetes`: a cluster, its log and its queue as files that the other commands read.

#include "fairlead/base/printable.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/saved_queue.h"
#include "fairlead/compare/margins.h"
#include "fairlead/forecast/kubernetes_now.h"
#include "fairlead/forecast/slurm_now.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"
#include "fairlead/slurm/queue.h"
#include "fairlead/trace/read_flags.h"
#include "fairlead/trace/resample.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

std::int64_t running(const ClusterNow& now) {
  return std::ranges::count(now.queue.jobs, "running", &JobAnswer::state);
}

std::string imported_json(const ClusterNow& now, const fs::path& out) {
  nlohmann::json value = {{"folder", out.string()},
                          {"nodes", now.queue.cluster.nodes()},
                          {"gpus", now.queue.cluster.gpus},
                          {"queue_jobs", now.queue.jobs.size()},
                          {"queue_running", running(now)},
                          {"log_jobs", nullptr},
                          {"limits", nullptr},
                          {"said", now.said}};
  if (now.trace) value["log_jobs"] = now.trace->jobs();
  if (now.queue.limits) value["limits"] = now.queue.limits->size();
  return json_text(value);
}

bool has_starts(const Workload& log) {
  return std::ranges::any_of(log.jobs.logged,
                             [](const Logged& logged) { return logged.start != Time::never(); });
}

std::string limits_text(const std::vector<LimitRule>& rules) {
  if (rules.empty()) return "no limit on GPUs or jobs";
  return rules.size() == 1 ? "1 limit" : fmt::format("{} limits", rules.size());
}

std::string imported_text(const ClusterNow& now, const fs::path& out) {
  const auto count = [](std::size_t jobs) { return count_text(static_cast<std::int64_t>(jobs)); };
  std::string text = fmt::format("{:<14}{}\n", kSavedCluster, describe(now.queue.cluster));
  if (now.trace)
    text += fmt::format("{:<14}{} jobs that ended\n", kSavedJobs, count(now.trace->jobs()));
  text += fmt::format("{:<14}{} jobs, {} of them running\n", kSavedQueue,
                      count(now.queue.jobs.size()), count_text(running(now)));
  if (now.queue.limits)
    text += fmt::format("{:<14}{}\n", kSavedLimits, limits_text(*now.queue.limits));
  text += fmt::format("{:<14}the assumptions\n\n", kSavedNotes);
  for (const std::string& line : now.said) text += fmt::format("  {}\n", printable(line));
  text += "\nNext:\n";
  if (now.trace && now.trace->jobs() > 0) {
    std::string compare = fmt::format("  fairlead compare --cluster {0}/{1} --trace {0}/{2}",
                                      out.string(), kSavedCluster, kSavedJobs);
    if (now.queue.limits) compare += fmt::format(" --set limits={}/{}", out.string(), kSavedLimits);
    const bool starts = has_starts(now.trace->workload());
    text += fmt::format("  fairlead trace inspect {}/{}\n", out.string(), kSavedJobs);
    if (starts) text += compare + " --set costs=none --policies 'as-recorded;slurm'\n";
    const bool has_margin = trace_days(now.trace->workload()).days >= kResampledDaysMin;
    text += fmt::format("{} --policies '{}fifo;sjf;fairlead'{}\n", compare, starts ? "slurm;" : "",
                        has_margin ? fmt::format(" --resample {}", kResamplesMin) : "");
  }
  if (!now.queue.jobs.empty())
    text +=
        fmt::format("  fairlead whatif --from {} --policy fifo --policy fairlead\n", out.string());
  return text;
}

Status keep(const ClusterNow& now, const fs::path& out, bool as_json) {
  FL_TRY(save(now, out));
  fmt::print("{}", as_json ? imported_json(now, out) : imported_text(now, out));
  return {};
}

void add_output(CLI::App& app, std::string& out, bool& as_json) {
  app.add_option("--out", out, "folder of the files, created if missing")
      ->capture_default_str()
      ->type_name("DIR");
  app.add_flag("--json", as_json, "print JSON instead of text");
}

Command add_slurm(CLI::App& import) {
  CLI::App* app = import.add_subcommand("slurm", "Import the output of sacct, scontrol and squeue");
  struct Flags {
    SlurmFiles files;
    ReadFlags reading;
    std::string since;
    std::string out = "out/slurm";
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("--scontrol-nodes", flags->files.nodes, "output of `scontrol show node`")
      ->type_name("FILE");
  app->add_option("--sacct", flags->files.ended, "output of sacct with jobs that ended")
      ->type_name("FILE");
  app->add_option("--squeue", flags->files.queue,
                  "output of squeue with the jobs that want GPUs now")
      ->type_name("FILE");
  app->add_option("--sacctmgr-qos", flags->files.qos,
                  fmt::format("output of `{}`: limits of QOS", kSacctmgrQos))
      ->type_name("FILE");
  app->add_option("--sacctmgr-assoc", flags->files.associations,
                  "output of `sacctmgr show assoc -P`: limits of accounts and of their users")
      ->type_name("FILE");
  app->add_option("--since", flags->since,
                  "without files: ask sacct from then on (default: the last 30 days)")
      ->type_name("TIME");
  app->add_option("--utc-offset", flags->reading.utc_offset, std::string(kUtcOffsetHelp))
      ->type_name("OFFSET[,TIME=OFFSET]...");
  add_output(*app, flags->out, flags->json);
  app->footer(fmt::format(
      "Without any FILE the commands are run here. With files, the nodes are\n"
      "needed and the others are optional. On a host with Slurm:\n"
      "\n"
      "  scontrol show node > nodes.txt\n"
      "  {} now-30days {} > sacct.txt\n"
      "  {} > squeue.txt\n"
      "  {} > qos.txt\n"
      "  {} > assoc.txt\n"
      "\n"
      "Examples:\n"
      "  fairlead import slurm --out lab\n"
      "  fairlead import slurm --scontrol-nodes nodes.txt --sacct sacct.txt --squeue squeue.txt "
      "--sacctmgr-qos qos.txt --sacctmgr-assoc assoc.txt --out lab\n",
      kSacct, kSacctFields, kSqueue, kSacctmgrQos, kSacctmgrAssociations));
  return {app, [flags]() -> Status {
            SlurmFiles files = flags->files;
            FL_TRY_ASSIGN(options, read_options(flags->reading));
            files.utc_offsets = options.utc_offsets;
            if (files.nodes.empty() && files.ended.empty() && files.queue.empty() &&
                files.qos.empty() && files.associations.empty()) {
              FL_TRY_ASSIGN(asked, ask_slurm(flags->out, flags->since));
              files = std::move(asked);
            }
            FL_TRY_ASSIGN(now, slurm_now(files));
            return keep(now, flags->out, flags->json);
          }};
}

Command add_kubernetes(CLI::App& import) {
  CLI::App* app = import.add_subcommand("kubernetes", "Import the gangs that an API server knows");
  struct Flags {
    std::string context;
    CensusOptions census{.name_space = "fairlead"};
    std::string out = "out/kubernetes";
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("--context", flags->context,
                  "context of the kubeconfig (default: the current one)");
  app->add_option("--namespace", flags->census.name_space,
                  "namespace of the ConfigMap `fairlead` with the tickets")
      ->capture_default_str();
  app->add_flag("--all-schedulers", flags->census.all_schedulers,
                "take the gangs of other schedulers too");
  add_output(*app, flags->out, flags->json);
  app->footer("Example:\n  fairlead import kubernetes --all-schedulers --out lab\n");
  return {app, [flags]() -> Status {
            FL_TRY_ASSIGN(census, kubernetes_census(flags->context, flags->census));
            FL_TRY_ASSIGN(now, kubernetes_now(census));
            return keep(now, flags->out, flags->json);
          }};
}

}  // namespace

std::vector<Command> add_import(CLI::App& root) {
  CLI::App* import = root.add_subcommand("import", "Import a cluster with its log and its queue");
  import->require_subcommand(1);
  import->footer(
      "Examples:\n"
      "  fairlead import slurm --out lab          asks scontrol, sacct, squeue and sacctmgr\n"
      "  fairlead import kubernetes --out lab\n"
      "\n"
      "docs/operator.md continues from there.\n");
  return {add_slurm(*import), add_kubernetes(*import)};
}

}  // namespace fairlead
