#include "fairlead/cli/run.h"

#include "fairlead/cli/progress.h"
#include "fairlead/engine/engine.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/metrics/bounds.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/result_files.h"
#include "fairlead/trace/load.h"
#include "fairlead/trace/trace.h"

#include <chrono>
#include <sys/resource.h>

namespace fairlead {
namespace {

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux reports KiB
}

// Jobs that the clock stopped before are in no record.
void add_unsubmitted(const Workload& workload, Metrics& metrics) {
  const Jobs& jobs = workload.jobs;
  for (JobId job : ids<JobId>(jobs.size())) {
    if (jobs.state[job] != JobState::kUnsubmitted) continue;
    Record record;
    record.kind = RecordKind::kArrived;
    record.t = jobs.arrival[job];
    record.job = job;
    record.user = jobs.user[job];
    record.name = workload.names[job];
    if (!jobs.model[job].is_none()) record.model_name = workload.models[jobs.model[job]];
    record.gpus = jobs.gpus[job];
    record.work = workload.durations[job];
    metrics.unsubmitted(record);
  }
}

Status check(const Audit& audit) {
  if (audit.passed()) return {};
  return run_error("the audit found {} problems in the journal, the first: {}",
                   audit.problem_count(),
                   audit.problems().empty() ? "it has no end" : audit.problems().front());
}

// Everything that a run needs and that its inputs decide.
struct World {
  Cluster cluster;
  PolicyChoice choice;
  std::unique_ptr<Policy> policy;
  Workload workload;
  SpeedTable table;
};

Result<World> read_inputs(const RunConfig& config) {
  FL_TRY_ASSIGN(cluster, load_cluster(config.cluster));
  FL_TRY_ASSIGN(choice, parse_policy(config.policy, config.seed));
  FL_TRY_ASSIGN(policy, choice.make());
  FL_TRY_ASSIGN(workload, read_trace(config.trace, {.format = config.format,
                                                    .reading = config.settings.reading}));
  if (workload.jobs.size() == 0) {
    return input_error("{}: no job in it that can be used: {} rows read, {} of them left out",
                       config.trace, workload.rows.rows_read, workload.rows.rejected());
  }
  if (config.settings.load > 0) {
    FL_TRY(scale_to_load(workload, config.settings.load, cluster.gpus));
  }
  FL_TRY_ASSIGN(table, speed_table(config.settings, config.seed, workload));
  return World{std::move(cluster), std::move(choice), std::move(policy), std::move(workload),
               std::move(table)};
}

// Jobs whose model says what it communicates.
std::int64_t communicating(const Workload& workload, const Speed& speed) {
  std::int64_t jobs = 0;
  for (JobId job : ids<JobId>(workload.jobs.size())) {
    const ModelProfile* profile = speed.profile(job);
    if (profile != nullptr && profile->communication.has_value()) ++jobs;
  }
  return jobs;
}

RunLabel label_of(const RunConfig& config, const World& world) {
  return {.policy = std::string(world.choice.entry->name),
          .options = world.choice.options.canonical(),
          .cluster = world.cluster.name,
          .trace = world.workload.name,
          .seed = config.seed};
}

}  // namespace

Result<SpeedTable> speed_table(const Settings& settings, std::uint64_t seed, Workload& workload) {
  SpeedTable table = builtin_models();
  if (!settings.models.empty()) {
    FL_TRY_ASSIGN(loaded, load_models(settings.models));
    draw_models(workload, loaded, seed);
    table = std::move(loaded);
  }
  if (!settings.model_costs) {
    for (ModelProfile& model : table.models) model.costs = {};
  }
  return table;
}

Result<RunOutcome> run_simulation(const RunConfig& config) {
  const auto begin = std::chrono::steady_clock::now();
  FL_TRY_ASSIGN(world, read_inputs(config));
  FL_TRY_ASSIGN(speed, Speed::make(world.cluster, world.table, world.workload,
                                   config.settings.reference_gpu, config.settings.network));
  FL_TRY_ASSIGN(folder, ResultFolder::open(config.out));
  FL_TRY_ASSIGN(journal, JournalFile::create(folder.file(kJournalName)));

  Metrics metrics(config.settings.timeline);
  Audit audit;
  EngineCounts counts;
  {
    Progress progress;
    std::vector<RecordSink*> sinks = {&journal, &metrics, &progress};
    if (config.audit) sinks.push_back(&audit);
    Tee tee(sinks);
    SimBackend backend(world.cluster, world.workload, speed,
                       {.costs = config.settings.costs,
                        .faults = config.settings.faults,
                        .network = config.settings.network,
                        .seed = config.seed});
    ProfileOptions profiles = config.settings.profiles;
    profiles.seed = config.seed;
    Engine engine(world.cluster, world.workload, speed, *world.policy, backend, tee, config.until,
                  profiles);
    engine.run(label_of(config, world));
    counts = engine.counts();
  }
  if (config.audit) FL_TRY(check(audit));
  folder.begin_replacing();
  FL_TRY(journal.close());
  folder.add(kJournalName);
  add_unsubmitted(world.workload, metrics);

  Summary summary = metrics.summary(
      {.rows = world.workload.rows,
       .models_unknown = speed.models_unknown(),
       .models_communicating = communicating(world.workload, speed),
       .settings = config.settings.given,
       .journal_hash = journal.hash(),
       .bounds = job_bounds(world.cluster, world.workload, speed, world.policy->needs().copies)});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  FL_TRY(write_results(folder, metrics, summary,
                       {.wall_s = wall.count(),
                        .decisions = counts.decisions,
                        .events = counts.events,
                        .peak_rss_mb = peak_rss_mb(),
                        .inputs_hash = config.inputs_hash}));
  folder.keep();
  return RunOutcome{std::move(summary), wall.count()};
}

}  // namespace fairlead
