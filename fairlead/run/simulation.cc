#include "fairlead/run/simulation.h"

#include "fairlead/base/archive.h"
#include "fairlead/engine/eligibility.h"
#include "fairlead/engine/engine.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/input/limits_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/input/outages_file.h"
#include "fairlead/metrics/bounds.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/model/type_sets.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/cost_meters.h"
#include "fairlead/sim/cpu_limits.h"
#include "fairlead/sim/sim_backend.h"
#include "fairlead/sim/unreliable.h"
#include "fairlead/trace/load.h"
#include "fairlead/trace/plausible.h"
#include "fairlead/trace/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

// Returns the speed table of the settings.
Result<SpeedTable> speed_table(const SimulationInputs& inputs) {
  if (inputs.models) return *inputs.models;
  if (inputs.settings.models.empty()) return builtin_models();
  return load_models(inputs.settings.models);
}

bool has_several_products(const Cluster& cluster) {
  for (const std::string& type : cluster.type_names) {
    if (type_key(product_of_type(type)) != type_key(product_of_type(*cluster.type_names.begin()))) {
      return true;
    }
  }
  return false;
}

// Puts into words whether CPU and memory limit placements.
void add_resources(const Cluster& cluster, const Workload& workload, bool ignored,
                   Assumptions& assumed) {
  const auto states = [](const CpuMemory& amounts) { return amounts.is_stated(); };
  const auto with = std::ranges::count_if(workload.asks, states);
  const auto nodes = std::ranges::count_if(cluster.node_has, states);
  const auto all = static_cast<std::int64_t>(workload.jobs.size());
  if (with == 0 && nodes == 0) return;
  if (ignored) {
    assumed.resources = "CPU and memory are ignored (--set resources=ignore)";
    assumed.resources_jobs = with;
  } else if (nodes == 0) {
    assumed.resources = "CPU and memory do not limit: no node states its own";
    assumed.resources_jobs = with;
  } else if (with == 0) {
    assumed.resources = "CPU and memory do not limit: no job states its own";
    assumed.resources_jobs = all;
  } else {
    assumed.resources =
        fmt::format("CPU and memory limit placements on {} of {} nodes", nodes, cluster.nodes());
    assumed.resources_jobs = with;
  }
}

}  // namespace

// The jobs that the limits of a run are about.
struct LimitFacts {
  std::size_t limits = 0;
  std::int64_t limited = 0;
  std::int64_t too_large = 0;
  std::int64_t unknown = 0;
};

namespace {

// Puts the limits into words.
void add_limits(const Workload& workload, const Settings& settings, const Needs& needs,
                const LimitFacts& facts, Assumptions& assumed) {
  const auto with_qos =
      std::ranges::count_if(workload.qos.of_job, [](LabelId label) { return !label.is_none(); });
  const auto add = [&](std::string text, std::int64_t jobs) {
    if (jobs > 0) assumed.limits.emplace_back(std::move(text), jobs);
  };
  if (settings.limits.empty() && settings.limit_rules.empty())
    return add("limits of QOS, accounts and users are not known (--set limits=FILE)", with_qos);
  if (!needs.limits)
    return add("the recorded starts are kept, whatever the limits",
               static_cast<std::int64_t>(workload.jobs.size()));
  add(fmt::format("{} limit{} of {} rule{} held jobs until they fitted", facts.limits,
                  facts.limits == 1 ? "" : "s", settings.limit_rules.size(),
                  settings.limit_rules.size() == 1 ? "" : "s"),
      facts.limited);
  add("ask for more GPUs than a limit, which does not apply to them", facts.too_large);
  add("have no QOS or no account in the trace, so limits by these do not apply", facts.unknown);
}

// Lowers the most GPUs and copies of a limited job to its limits, and returns the most GPUs that it has at once.
// REQUIRES: the job asks for no more GPUs than each of its limits.
std::uint32_t keep_within(const LimitedJobs& limited, const Needs& needs, std::size_t nodes,
                          Workload& workload, JobId job) {
  Jobs& jobs = workload.jobs;
  std::uint32_t most = 0;
  for (const std::size_t limit : limited.of_job[job]) {
    const std::uint32_t gpus = limited.limits[limit].gpus_max;
    if (gpus > 0 && (most == 0 || gpus < most)) most = gpus;
  }
  if (needs.elastic && most > 0) {
    const std::uint32_t whole = most - most % jobs.task_gpus[job];
    jobs.gpus_max[job] = std::min(jobs.gpus_max[job], whole);
  }
  const std::uint32_t gang = needs.elastic ? jobs.gpus_max[job] : jobs.gpus[job];
  if (!needs.copies) return gang;
  std::uint32_t& copies = jobs.extras.grow_to(job).copies_max;
  if (copies == 0) copies = static_cast<std::uint32_t>(nodes);
  if (most > 0) copies = std::min(copies, most / gang);
  return gang * copies;
}

Assumptions assumptions(const SimulationInputs& inputs, const Workload& workload,
                        const Speed& speed, const std::vector<std::string>& implausible,
                        const LimitFacts& limits) {
  Assumptions assumed{.trace = workload.reading, .speeds = speed.assumed()};
  assumed.implausible = implausible;
  assumed.reference_is_named = !inputs.settings.reference_gpu.empty();
  assumed.reference_type = inputs.settings.reference_gpu;
  if (!assumed.reference_is_named && !speed.reference_type().is_none()) {
    assumed.reference_type = inputs.cluster.type_names[speed.reference_type()];
  }
  add_resources(inputs.cluster, workload, inputs.settings.resources_ignored, assumed);
  add_limits(workload, inputs.settings, inputs.policy->needs(), limits, assumed);
  const bool several = has_several_products(inputs.cluster);
  for (JobId job : ids<JobId>(workload.jobs.size())) {
    if (several && workload.reference_types[job].empty()) ++assumed.reference_jobs;
    if (several && workload.jobs.model[job].is_none() && speed.profile(job) == nullptr) {
      ++assumed.jobs_without_model;
    }
  }
  return assumed;
}

// Applies the rule to the column runs_on, and returns a sentence about jobs for which it is a guess.
std::string apply(PlacesRule rule, const Cluster& cluster, Workload& workload) {
  const UnplacedJobs unplaced = unplaced_jobs(workload, cluster);
  if (rule == PlacesRule::kAny) workload.runs_on.clear();
  if (rule == PlacesRule::kRecorded) {
    for (JobId job : ids<JobId>(workload.jobs.size())) {
      const std::string types =
          names_of(cluster, types_of_product(cluster, workload.reference_types[job]));
      if (!types.empty()) workload.runs_on.try_emplace(job, types);
    }
  }
  constexpr double kGrave = 0.01;  // the limit of metrics/assumed.h
  if (unplaced.recorded < kGrave || rule == PlacesRule::kAny) return {};
  const std::string who =
      fmt::format("nothing states where {} jobs may run, {:.0f} % of the GPU time: ", unplaced.jobs,
                  100 * unplaced.gpu_time);
  return who + (rule == PlacesRule::kRecorded
                    ? "each stays on the GPU type that it ran on"
                    : "any GPU (--sweep places=stated,recorded also keeps each on its type)");
}

// Returns the number of jobs whose model has communication figures.
std::int64_t communicating(const Workload& workload, const Speed& speed) {
  std::int64_t jobs = 0;
  for (JobId job : ids<JobId>(workload.jobs.size())) {
    const ModelProfile* profile = speed.profile(job);
    if (profile != nullptr && profile->communication.has_value()) ++jobs;
  }
  return jobs;
}

}  // namespace

Status SimulationInputs::use_policy(std::string_view text) {
  FL_TRY_ASSIGN(choice, parse_policy(text, seed));
  FL_TRY_ASSIGN(made, choice.make());
  policy = std::move(made);
  policy_options = choice.options.canonical();
  return {};
}

// All objects with the lifetime of the run, in one place because they refer to each other. They are created in the
// order of their declaration.
struct Simulation::World : RecordSink {
  World(SimulationInputs given, Workload jobs)
      : inputs(std::move(given)), workload(std::move(jobs)), metrics(inputs.settings.timeline) {
    if (inputs.measured) sinks.push_back(&metrics);
  }

  Status set_up(const SpeedTable& table) {
    const Settings& settings = inputs.settings;
    FL_TRY_ASSIGN(meters, CostMeters::make(inputs.cluster, settings));
    costs = std::move(meters);
    if (inputs.measured) std::ranges::copy(costs.sinks(), std::back_inserter(sinks));
    UnknownSpeeds unknown{.rule = settings.unknown_speed};
    if (unknown.rule == UnknownSpeed::kGeneric) unknown.factors = builtin_gpu_factors();
    FL_TRY_ASSIGN(speeds, Speed::make(inputs.cluster, table, workload, settings.reference_gpu,
                                      settings.network, unknown));
    speed = std::move(speeds);
    FL_TRY(resolve_levels(inputs.cluster, workload));
    backend.emplace(inputs.cluster, workload, speed,
                    SimOptions{.resources_ignored = settings.resources_ignored,
                               .costs = settings.costs,
                               .faults = settings.faults,
                               .network = settings.network,
                               .seed = inputs.seed});
    hold_by_limits();
    EngineOptions options{
        .until = inputs.until, .profiles = settings.profiles, .jobs = workload.jobs.size()};
    options.profiles.seed = inputs.seed;
    options.profiles.factors = builtin_gpu_factors();
    options.work = settings.work;
    options.work.seed = inputs.seed;
    if (settings.unreliable.any()) {
      unreliable.emplace(*backend, inputs.cluster, workload.users, settings.unreliable,
                         inputs.seed);
    }
    engine.emplace(inputs.cluster, &speed, *inputs.policy, engine_world(), *this, options);
    return {};
  }
  // A job that the engine will reject has no limit, because it never ends.
  void hold_by_limits() {
    const Needs needs = inputs.policy->needs();
    if (inputs.settings.limit_rules.empty() || !needs.limits) return;
    Eligibility eligibility;
    IdVector<JobId, std::uint32_t> gpus_of;
    for (const JobId job : ids<JobId>(workload.jobs.size())) {
      const JobSpec spec = workload.jobs.asked(job);
      const bool never =
          !eligibility
               .answer(spec, *inputs.policy, inputs.cluster, workload.users, backend->task_limits())
               .refusal.empty();
      gpus_of.push_back(never ? 0 : spec.gpus);
    }
    LimitedJobs limited = limited_jobs(inputs.settings.limit_rules, workload, gpus_of);
    for (const JobId job : ids<JobId>(workload.jobs.size())) {
      if (!limited.of_job[job].empty())
        gpus_of[job] = keep_within(limited, needs, inputs.cluster.nodes(), workload, job);
    }
    limit_facts = {limited.limits.size(), limited.limited, limited.too_large, limited.unknown};
    backend->hold_by(std::make_unique<LimitHolds>(inputs.cluster, workload.jobs, std::move(limited),
                                                  std::move(gpus_of)));
  }
  void on(const Record& record) override {
    for (RecordSink* sink : sinks) sink->on(record);
  }
  void begin() {
    if (!std::exchange(has_begun, true)) {
      engine->begin(label(), unreliable ? unreliable->first_users() : workload.users);
    }
  }
  // Frees the tables of engine and backend, some 70 bytes per job, which are not needed after the end.
  void end() {
    // In input order.
    std::vector<JobSpec> specs = unreliable ? unreliable->unsubmitted() : backend->unsubmitted();
    std::ranges::sort(specs, {}, &JobSpec::job);
    specs.erase(std::unique(specs.begin(), specs.end(),
                            [](const JobSpec& a, const JobSpec& b) { return a.job == b.job; }),
                specs.end());
    engine->end(workload.users, specs);
    end_time = engine->now();
    end_counts = counts();
    engine.reset();
    unreliable.reset();
    backend.reset();
  }
  bool is_over() const { return !engine.has_value(); }
  Backend& engine_world() { return unreliable ? static_cast<Backend&>(*unreliable) : *backend; }
  SimulationCounts counts() const {
    const Network* network = backend->network();
    return {.events = engine->counts().events,
            .decisions = engine->counts().decisions,
            .steps = engine->counts().steps,
            .gangs_on_links = network == nullptr ? 0 : network->gangs(),
            .link_updates = network == nullptr ? 0 : network->link_updates()};
  }
  RunLabel label() const {
    return {.policy = std::string(inputs.policy->name()),
            .options = inputs.policy_options,
            .cluster = inputs.cluster.name,
            .trace = workload.name,
            .seed = inputs.seed,
            .jobs = static_cast<std::uint32_t>(workload.jobs.size())};
  }

  SimulationInputs inputs;
  Workload workload;
  Metrics metrics;
  CostMeters costs;
  std::vector<RecordSink*> sinks;
  LimitFacts limit_facts;
  std::vector<std::string> implausible;  // implausible facts of the trace as it was read
  Speed speed;
  std::optional<SimBackend> backend;
  std::optional<UnreliableBackend> unreliable;  // around `backend`, if the settings enable it
  std::optional<Engine> engine;                 // none after the end of the run
  bool has_begun = false;
  Time end_time;
  SimulationCounts end_counts;
};

namespace {

// Loads the files of outages and limits that the settings name.
Status load_files(const Cluster& cluster, Settings& settings) {
  if (!settings.outages.empty()) {
    FL_TRY_ASSIGN(outages, load_outages(settings.outages, cluster));
    settings.faults.outages = std::move(outages);
  }
  if (!settings.limits.empty()) {
    FL_TRY_ASSIGN(rules, load_limits(settings.limits));
    settings.limit_rules = std::move(rules);
  }
  return {};
}

// Returns the jobs, or a resample of them. Error: too many rows of the trace were rejected.
Result<Workload> drawn_jobs(Workload jobs, const Settings& settings, std::uint64_t seed) {
  if (!settings.rejects_allowed) FL_TRY(check_rejected(jobs));
  if (!settings.resample) return jobs;
  return resampled(jobs, seed);
}

}  // namespace

Simulation::Simulation(std::unique_ptr<World> world) : world_(std::move(world)) {}
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;
Simulation::~Simulation() = default;

Result<Simulation> Simulation::make(SimulationInputs inputs) {
  FL_CHECK(inputs.policy != nullptr, "a simulation without a policy");
  FL_CHECK(inputs.trace.workload_ != nullptr, "a trace that was moved from");
  FL_TRY(load_files(inputs.cluster, inputs.settings));
  const Settings& settings = inputs.settings;
  FL_TRY_ASSIGN(workload, drawn_jobs(std::move(*inputs.trace.workload_), settings, inputs.seed));
  std::vector<std::string> implausible = implausible_facts(workload);
  const std::string guess = apply(settings.places, inputs.cluster, workload);
  if (!guess.empty()) implausible.push_back(guess);
  if (settings.load > 0) FL_TRY(scale_to_load(workload, settings.load, inputs.cluster.gpus));
  const std::string overload = overload_text(workload, inputs.cluster);
  if (!overload.empty()) implausible.push_back(overload);
  FL_TRY_ASSIGN(table, speed_table(inputs));
  if (!settings.models.empty()) draw_models(workload, table, inputs.seed);
  if (!settings.model_costs) {
    for (ModelProfile& model : table.models) model.costs = {};
  }
  auto world = std::make_unique<World>(std::move(inputs), std::move(workload));
  world->implausible = std::move(implausible);
  FL_TRY(world->set_up(table));
  return Simulation(std::move(world));
}

void Simulation::add_sink(RecordSink& sink) {
  FL_CHECK(!world_->has_begun, "a sink that misses the beginning");
  world_->sinks.push_back(&sink);
}

Result<bool> Simulation::step() {
  World& world = *world_;
  if (world.is_over()) return false;
  world.begin();
  Result<bool> goes_on = world.engine->step();
  if (goes_on && !*goes_on) world.end();
  return goes_on;
}

Status Simulation::run() {
  World& world = *world_;
  if (world.is_over()) return {};
  world.begin();
  for (;;) {
    const Result<bool> goes_on = world.engine->step();
    if (!goes_on) return tl::unexpected(goes_on.error());
    if (*goes_on) continue;
    world.end();
    return {};
  }
}

bool Simulation::is_over() const { return world_->is_over(); }

Time Simulation::now() const { return is_over() ? world_->end_time : world_->engine->now(); }

SimulationCounts Simulation::counts() const {
  return is_over() ? world_->end_counts : world_->counts();
}

const Tables& Simulation::tables() const {
  FL_CHECK(!is_over(), "the tables of a run that is over");
  return world_->engine->tables();
}

const Metrics& Simulation::metrics() const {
  FL_CHECK(is_over() && world_->inputs.measured, "no result, or not yet");
  return world_->metrics;
}

RunFacts Simulation::facts() const {
  const World& world = *world_;
  const bool copies = world.inputs.policy->needs().copies;
  return {.rows = world.workload.rows,
          .assumed = assumptions(world.inputs, world.workload, world.speed, world.implausible,
                                 world.limit_facts),
          .models_unknown = world.speed.models_unknown(),
          .models_communicating = communicating(world.workload, world.speed),
          .settings = world.inputs.settings.given,
          .journal_hash = {},
          .racks = rack_texts(world.inputs.cluster),
          .bounds = job_bounds(world.inputs.cluster, world.workload, world.speed, copies),
          .costs = world.costs.costs(world.workload.jobs.size())};
}

StatedResources Simulation::resources() const {
  const World& world = *world_;
  return world.inputs.settings.resources_ignored
             ? StatedResources()
             : stated_resources(world.inputs.cluster, world.workload);
}

Summary Simulation::summary() const { return metrics().summary(facts()); }

RunResult Simulation::result() const {
  return {.summary = summary(), .jobs = job_results(metrics()), .timeline = timeline_of(metrics())};
}

void Simulation::snapshot() {
  FL_CHECK(!is_over(), "a snapshot of a run that is over");
  world_->engine->snapshot(world_->inputs.policy_options);
}

Result<Recovery> Simulation::resume(const RecordedRun& run, bool replays) {
  World& world = *world_;
  FL_CHECK(!world.has_begun, "resume() after the first step");
  world.has_begun = true;
  for (const Record& record : run.records()) world.on(record);
  // The faults of an unreliable world depend on the times of the calls, so it cannot be replayed.
  const bool drives = !world.unreliable.has_value();
  FL_TRY_ASSIGN(recovery, recover(*world.engine, run, world.inputs.policy_options,
                                  *world.inputs.policy, world.engine_world(), drives, replays));
  world.engine->replace_world(world.engine_world(), world);
  return recovery;
}

void Simulation::reload_policy(std::unique_ptr<Policy> fresh) {
  FL_CHECK(!is_over(), "a policy for a run that is over");
  World& world = *world_;
  Writer writer;
  save(*world.inputs.policy, writer);
  Reader reader(writer.bytes());
  load(*fresh, reader);
  FL_CHECK(reader.ok() && reader.left() == 0, "{}: the loaded state differs from the saved state",
           fresh->name());
  world.engine->replace_policy(*fresh);
  world.inputs.policy = std::move(fresh);
}

}  // namespace fairlead
