// `fairlead when | whatif`: forecasts.

#include "fairlead/base/printable.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/forecast_text.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/cli/saved_queue.h"
#include "fairlead/forecast/kubernetes_now.h"
#include "fairlead/forecast/slurm_now.h"
#include "fairlead/measure/command_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace fairlead {
namespace {

struct WhenFlags {
  std::string socket;
  SchedulerFlags scheduler;
  bool json = false;
  std::string job;
  // A job that is not submitted: a manifest, or the flags of `submit`.
  std::string file;
  std::optional<std::int64_t> gpus{};
  std::string model, time;
};

// Names the reservations, because forecasts do not simulate them.
std::string left_out_text(const ClusterAnswer& cluster) {
  std::string text;
  for (const ReservationAnswer& one : cluster.reservations)
    text += fmt::format("{}  {}\n", text.empty() ? "\nThis leaves out that\n" : "",
                        printable(one.text));
  return text;
}

struct DaemonNow {
  ClusterAnswer cluster;
  std::vector<UserAnswer> users;
  std::vector<JobAnswer> jobs;  // also finished ones
};

Result<DaemonNow> daemon_now(const Daemon& daemon) {
  FL_TRY_ASSIGN(cluster, daemon.cluster());
  FL_TRY_ASSIGN(users, daemon.users());
  FL_TRY_ASSIGN(jobs, daemon.jobs("all=1"));
  return DaemonNow{std::move(cluster), std::move(users), std::move(jobs)};
}

// Prints the forecast of one of the jobs.
Status print_forecast(const DaemonNow& now, const JobAnswer& job, const std::string& subject,
                      bool json) {
  FL_TRY_ASSIGN(queue, queue_now(now.cluster, now.jobs, now.users));
  FL_TRY_ASSIGN(answer, forecast(queue, job.id));
  if (json) {
    fmt::print("{}", forecast_json(answer, job));
    return {};
  }
  fmt::print("{}\nThis guesses that\n{}{}", forecast_text(answer, subject, now.cluster.now_unix_ms),
             guesses_text(answer.guesses), left_out_text(now.cluster));
  return {};
}

Status when_on_daemon(const WhenFlags& flags) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(id, daemon.job_named(flags.job));
  FL_TRY_ASSIGN(now, daemon_now(daemon));
  const auto job = std::ranges::find(now.jobs, id, &JobAnswer::id);
  if (job == now.jobs.end())
    return input_error("there is no such job; `fairlead ps -a` lists them: {}", id);
  if (job->is_done()) {
    fmt::print("{}\n", end_text(*job));
    return {};
  }
  if (job->gpus == 0) {
    fmt::print(
        "job {0} needs no GPU, and forecasts are of GPUs; `fairlead why {0}` shows its state\n",
        id);
    return {};
  }
  if (job->state == "held") {
    fmt::print("job {} is held; `fairlead release {}` releases it\n", id, id);
    return {};
  }
  return print_forecast(now, *job, fmt::format("job {}", id), flags.json);
}

// Returns the expected run time in seconds, if a flag states it.
Result<std::optional<double>> time_of(const WhenFlags& flags) {
  if (flags.time.empty()) return std::nullopt;
  FL_TRY_ASSIGN(span_s, parse_span_s(flags.time));
  return span_s;
}

// Forecasts a job that `fairlead submit` would submit now with these flags and this command.
Status when_submitted(const WhenFlags& flags, const std::vector<std::string>& command) {
  FL_TRY_ASSIGN(time, time_of(flags));
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(now, daemon_now(daemon));
  JobAnswer job{.id = now.jobs.empty() ? 0 : now.jobs.back().id + 1,
                .user = own_name(),
                .model = flags.model.empty() && !command.empty() ? model_of(command) : flags.model,
                .gpus = flags.gpus.value_or(1),
                .state = "waiting",
                .declared_s = time};
  now.jobs.push_back(job);
  const std::string subject =
      fmt::format("job {} ({}, not submitted yet)", job.id,
                  job.gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", job.gpus));
  return print_forecast(now, job, subject, flags.json);
}

Result<Census> census_of(const SchedulerFlags& scheduler, bool all_schedulers) {
  return kubernetes_census(scheduler.context,
                           {.all_schedulers = all_schedulers, .name_space = scheduler.name_space});
}

Result<ClusterNow> kubernetes_now_of(const SchedulerFlags& scheduler, bool all_schedulers) {
  FL_TRY_ASSIGN(census, census_of(scheduler, all_schedulers));
  return kubernetes_now(census);
}

// Adds the policy of the scheduler there, and returns the time there. Errors: no scheduler leads; this program lacks
// its policy.
Result<std::int64_t> add_present_policy(QueueNow& queue, const SchedulerFlags& scheduler) {
  FL_TRY_ASSIGN(queries, connect_scheduler(scheduler));
  FL_TRY_ASSIGN(cluster, queries.cluster());
  FL_TRY(inputs_of(queue, policy_of(cluster)));
  queue.policy = policy_of(cluster);
  return cluster.now_unix_ms;
}

// Prints the forecast of one of the Jobs.
Status print_forecast(ClusterNow& now, const JobAnswer& job, const WhenFlags& flags) {
  FL_TRY_ASSIGN(now_unix_ms, add_present_policy(now.queue, flags.scheduler));
  FL_TRY_ASSIGN(answer, forecast(now.queue, job.id));
  if (flags.json) {
    fmt::print("{}", forecast_json(answer, job));
    return {};
  }
  fmt::print("{}\n{}", forecast_text(answer, job.name, now_unix_ms), assumptions_text(now));
  return {};
}

Status when_on_kubernetes(const WhenFlags& flags) {
  FL_TRY_ASSIGN(now, kubernetes_now_of(flags.scheduler, false));
  const auto job = std::ranges::find(now.queue.jobs, flags.job, &JobAnswer::name);
  if (job == now.queue.jobs.end()) {
    return input_error(
        "no Job of that name is running or waiting for GPUs; try `fairlead why {0}`: {0}",
        flags.job);
  }
  return print_forecast(now, *job, flags);
}

// Forecasts a job that `kubectl create -f FILE` would create now.
Status when_created(const WhenFlags& flags) {
  FL_TRY_ASSIGN(time, time_of(flags));
  FL_TRY_ASSIGN(gang, gang_of_manifest(flags.scheduler.context, flags.file));
  if (time) gang.declared = {std::llround(*time * 1000)};
  FL_TRY_ASSIGN(census, census_of(flags.scheduler, false));
  census.gangs.push_back(std::move(gang));
  FL_TRY_ASSIGN(now, kubernetes_now(census));
  return print_forecast(now, now.queue.jobs.back(), flags);
}

Status when(const WhenFlags& flags, const std::vector<std::string>& command) {
  const bool is_named = !flags.job.empty() || !flags.file.empty();
  if (is_named && !command.empty())
    return input_error("a command after -- is of a job that is not submitted: {}", command.front());
  if (!is_named && !flags.gpus && command.empty()) {
    return input_error(
        "name a job, a manifest (-f), or the GPUs (-g) or the command of a job that is not "
        "submitted");
  }
  if (!flags.file.empty()) return when_created(flags);
  if (flags.job.empty()) return when_submitted(flags, command);
  const bool is_on_kubernetes = flags.job.find('/') != std::string::npos;
  return is_on_kubernetes ? when_on_kubernetes(flags) : when_on_daemon(flags);
}

struct WhatIfFlags {
  std::string socket, out;
  std::string from = "daemon";
  std::string save;
  SchedulerFlags scheduler;
  std::vector<std::string> policies;
  bool all_schedulers = false;
  bool json = false;
};

Result<std::vector<WhatIf>> outcomes_of(const QueueNow& queue,
                                        const std::vector<std::string>& policies) {
  std::vector<WhatIf> outcomes;
  outcomes.reserve(policies.size());
  for (const std::string& policy : policies) {
    FL_TRY_ASSIGN(outcome, what_if(queue, policy));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

// Simulates a queue that is read now, or was saved; `notes`: its assumptions.
Status what_if_of(const QueueNow& queue, const std::string& notes, const WhatIfFlags& flags) {
  std::vector<std::string> policies = flags.policies;
  if (!queue.policy.empty()) policies.insert(policies.begin(), queue.policy);
  FL_TRY_ASSIGN(outcomes, outcomes_of(queue, policies));
  if (!flags.out.empty()) FL_TRY(write_whatif(queue, policies, flags.out));
  if (flags.json) {
    fmt::print("{}", whatif_json(queue, outcomes));
    return {};
  }
  fmt::print("{}\n{}", whatif_tables(outcomes, stdout_style()), notes);
  if (!flags.out.empty()) fmt::print("\nresults in {0}: fairlead report {0}\n", flags.out);
  return {};
}

Result<ClusterNow> slurm_now_here() {
  std::string folder = (std::filesystem::temp_directory_path() / "fairlead-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return run_error("{}: cannot be created", folder);
  const auto now = [&]() -> Result<ClusterNow> {
    FL_TRY_ASSIGN(files, ask_slurm(folder, ""));
    return slurm_now(files);
  };
  Result<ClusterNow> found = now();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return found;
}

Status what_if_of_saved(const WhatIfFlags& flags) {
  FL_TRY_ASSIGN(saved, read_saved_queue(flags.from));
  if (saved.queue.trace.jobs() == 0)
    return run_error("{}: no job wants GPUs in the queue there", flags.from);
  return what_if_of(saved.queue, saved.notes, flags);
}

Status what_if_of_cluster(const WhatIfFlags& flags) {
  const bool is_slurm = flags.from == "slurm";
  FL_TRY_ASSIGN(
      now, is_slurm ? slurm_now_here() : kubernetes_now_of(flags.scheduler, flags.all_schedulers));
  if (!flags.save.empty()) FL_TRY(save(now, flags.save));
  const std::string saved = fmt::format(
      "fairlead compare --cluster {0}/cluster.yaml --trace {0}/jobs.csv --policies "
      "'A;B' --out DIR",
      flags.save);
  if (now.queue.jobs.empty()) {
    if (is_slurm) return run_error("no job wants GPUs now");
    if (flags.save.empty()) {
      return run_error(
          "no gang wants GPUs now{}; --save also keeps earlier gangs",
          flags.all_schedulers ? "" : " (of Fairlead's; --all-schedulers: of others too)");
    }
    fmt::print("no gang wants GPUs now; for earlier gangs:\n  {}\n", saved);
    return {};
  }
  if (!is_slurm && !flags.all_schedulers) {
    const auto added = add_present_policy(now.queue, flags.scheduler);
    if (!added)
      now.said.push_back(fmt::format("the present policy is left out: {}", added.error().message));
  }
  FL_TRY(what_if_of(now.queue, assumptions_text(now), flags));
  if (!flags.save.empty() && !flags.json)
    fmt::print("\nof all jobs, from the first:\n  {}\n", saved);
  return {};
}

Status what_if(const WhatIfFlags& flags) {
  if (flags.from == "kubernetes" || flags.from == "slurm") return what_if_of_cluster(flags);
  if (flags.from != "daemon") return what_if_of_saved(flags);
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(now, daemon_now(daemon));
  FL_TRY_ASSIGN(queue, queue_now(now.cluster, now.jobs, now.users));
  if (queue.jobs.empty()) return run_error("no job wants GPUs now; `fairlead ps` shows the jobs");
  return what_if_of(queue, whatif_notes(queue.left), flags);
}

}  // namespace

Command add_when(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = root.add_subcommand("when", "Forecast when a job starts and ends");
  const auto flags = std::make_shared<WhenFlags>();
  CLI::Option* job = app->add_option(
      "JOB", flags->job,
      "number of a job of the daemon, or its name if only one job of yours has it; or "
      "NAMESPACE/JOB on Kubernetes");
  const auto add = [&](const char* names, auto& value, const char* help, const char* type) {
    return app->add_option(names, value, help)->type_name(type)->excludes(job);
  };
  CLI::Option* file =
      add("-f,--filename", flags->file,
          "manifest of a job that is not created yet on Kubernetes; -: standard input", "FILE");
  add("-g,--gpus", flags->gpus, "GPUs of a job that is not submitted yet to the daemon", "N")
      ->check(at_least(1))
      ->excludes(file);
  add("-m,--model", flags->model, "the model that it trains, as of `submit`", "MODEL")
      ->excludes(file);
  add("-t,--time", flags->time,
      "expected run time of a job that is not submitted, like 90s, 30m, 2h or 1h30m", "TIME");
  app->add_flag("--json", flags->json, "print JSON instead of text, for a job that will end");
  add_socket_flag(*app, flags->socket);
  add_scheduler_flags(*app, flags->scheduler);
  app->footer(
      "Examples:\n"
      "  fairlead when 12                       a job of the daemon\n"
      "  fairlead when vision/train             a Job on Kubernetes\n"
      "  fairlead when -g 2 -- python train.py  before `submit -g 2 -- python train.py`\n"
      "  fairlead when -f job.yaml --time 3h    before `kubectl create -f job.yaml`\n"
      "\n"
      "Simulates the present policy on the current jobs, and prints its assumptions: the\n"
      "remaining time of each job. The policy starts from scratch, without the shares that it\n"
      "owes. The API server checks a manifest by a dry run, which creates nothing.\n");
  return {app, [flags, &words] { return when(*flags, words); }};
}

Command add_whatif(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("whatif", "Forecast the queue and its users under other policies");
  const auto flags = std::make_shared<WhatIfFlags>();
  app->add_option("--policy", flags->policies,
                  "a policy with its options (fairlead policies); may be repeated")
      ->required()
      ->type_name("NAME[:OPT=V,...]")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--from", flags->from,
                  "the queue's source: the daemon, a Kubernetes cluster, Slurm on this machine, or "
                  "a folder of `fairlead import`")
      ->type_name("daemon|kubernetes|slurm|DIR")
      ->capture_default_str();
  add_scheduler_flags(*app, flags->scheduler);
  app->add_flag("--all-schedulers", flags->all_schedulers,
                "on Kubernetes, take the gangs of other schedulers too");
  app->add_option(
         "--save", flags->save,
         "write cluster.yaml, jobs.csv and queue.csv of all that Kubernetes or Slurm knows of")
      ->type_name("DIR");
  app->add_option("--out", flags->out, "write the results of every run, for `fairlead report`")
      ->type_name("DIR");
  app->add_flag("--json", flags->json, "print JSON instead of tables");
  add_socket_flag(*app, flags->socket);
  app->footer(
      "Example:\n"
      "  fairlead whatif --policy fifo:skip=true --policy srtf\n"
      "\n"
      "  fairlead whatif --from kubernetes --all-schedulers --policy fifo --policy gandiva-fair\n"
      "  fairlead import slurm --out lab\n"
      "  fairlead whatif --from lab --policy fifo --policy fairlead\n"
      "\n"
      "Simulates the daemon's policy and each of these on the current jobs, like `fairlead when`,\n"
      "and prints its assumptions. Policies that need the remaining times of jobs get the guesses\n"
      "printed here. Nothing is changed: `fairlead serve --policy` does that.\n");
  return {app, [flags] { return what_if(*flags); }};
}

}  // namespace fairlead
