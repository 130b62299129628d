#include "testing/world.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/base/rng.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/metrics/bounds.h"
#include "fairlead/sim/cpu_limits.h"
#include "testing/racks.h"

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

class OutcomeSink : public RecordSink {
 public:
  explicit OutcomeSink(std::size_t jobs) : jobs_(jobs), since_(jobs), gpus_(jobs) {}

  void on(const Record& record) override {
    const Time t = record.t;
    std::visit(Overloaded{
                   [&](const record::Place& place) { on_place(t, place); },
                   [&](const record::Stop& stop) {
                     ++jobs_[stop.job.row()].preemptions;
                     end_run(t, stop.job);
                   },
                   [&](const record::Evicted& evicted) { end_run(t, evicted.job); },
                   [&](const record::Finished& finished) {
                     jobs_[finished.job.row()].finish = t;
                     end_run(t, finished.job);
                   },
                   [&](const record::Rejected& rejected) {
                     jobs_[rejected.asked.job.row()].rejected = true;
                   },
                   [&](const record::End& end) { counts = end.counts; },
                   [](const auto&) {},
               },
               record.what);
  }
  std::vector<JobOutcome> take() { return std::move(jobs_); }
  JobCounts counts;

 private:
  void on_place(Time t, const record::Place& place) {
    const std::size_t row = place.job.row();
    if (place.copy > 0) {
      gpus_[row] += gpus_of(place.gang);
      return;
    }
    JobOutcome& job = jobs_[row];
    job.start = std::min(job.start, t);
    job.migrations += place.kind == PlaceKind::kMigrate;
    since_[row] = t;
    gpus_[row] = gpus_of(place.gang);
  }
  void end_run(Time t, JobId job) {
    jobs_[job.row()].allocated += occupancy(t - since_[job.row()], gpus_[job.row()]);
  }

  std::vector<JobOutcome> jobs_;
  std::vector<Time> since_;
  std::vector<std::uint32_t> gpus_;
};

Workload workload_of(const World& world) {
  WorkloadBuilder builder("test", Reading::kStrict);
  for (std::size_t i = 0; i < world.jobs.size(); ++i) {
    const WorldJob& job = world.jobs[i];
    const std::string id = fmt::format("j{}", i);
    JobRow row;
    row.id = id;
    row.user = job.user;
    row.tickets = job.tickets;
    row.group = job.group;
    row.group_tickets = job.group_tickets;
    row.group_quota = job.group_quota;
    row.model = job.model;
    row.gpus = job.gpus;
    row.gpus_min = job.gpus_min;
    row.gpus_max = job.gpus_max;
    row.task_gpus = job.task_gpus;
    row.asks = job.asks;
    row.extras.copies_max = job.copies_max;
    row.extras.pinned = job.pinned;
    row.extras.checkpoint_every_s = job.checkpoint_every_s;
    row.require_level = job.require_level;
    row.prefer_level = job.prefer_level;
    row.submit = job.submit;
    row.duration = job.work;
    row.logged = {job.time_limit, job.priority, job.logged_start};
    row.partition = job.partition;
    row.qos = job.qos;
    const Status status = builder.add(row, "world:1:1");
    FL_CHECK(status.has_value(), "{}", status.error().message);
  }
  return builder.finish();
}

// Hashes a journal without the names of policy, options, cluster and trace: policies with equal
// decisions have equal hashes.
class UnlabelledJournal : public RecordSink {
 public:
  void on(const Record& record) override {
    const auto* run = std::get_if<record::Run>(&record.what);
    if (run == nullptr) return journal_.on(record);
    journal_.on({record.t, record::Run{.jobs = run->jobs, .gpu_types = run->gpu_types}});
  }
  std::string hash() {
    FL_CHECK(journal_.close().has_value());
    return journal_.hash();
  }

 private:
  JournalFile journal_;
};

template <class T>
T valid(Result<T> result) {
  FL_CHECK(result.has_value(), "{}", result.error().message);
  return std::move(*result);
}

Cluster built_cluster(const World& world) {
  Cluster cluster = valid(cluster_of(world.cluster));
  for (NodeId node : ids<NodeId>(world.nodes_have.empty() ? 0 : cluster.nodes()))
    cluster.node_has.grow_to(node) = world.nodes_have[node.row() % world.nodes_have.size()];
  return cluster;
}

// Checks that the gangs on a node never need more CPU or memory than it has.
class RoomAudit : public RecordSink {
 public:
  explicit RoomAudit(const World& world)
      : world_(world), cluster_(built_cluster(world)), used_(cluster_.nodes()) {}

  void on(const Record& record) override {
    std::visit(Overloaded{
                   [&](const record::Place& place) {
                     std::vector<Slice>& gang = gangs_[place.job];
                     if (place.copy == 0) gang.clear();
                     gang.insert(gang.end(), place.gang.begin(), place.gang.end());
                     add(place.job, place.gang, 1);
                     for (Slice slice : place.gang) check(record.t, slice.node);
                   },
                   [&](const OneOf<record::Stop, record::Evicted, record::Finished, record::Failed,
                                   record::Cancelled, record::StartFailed> auto& end) {
                     add(end.job, gangs_[end.job], -1);
                     gangs_.erase(end.job);
                   },
                   [](const auto&) {},
               },
               record.what);
  }
  std::vector<std::string> problems;

 private:
  void add(JobId job, Gang gang, std::int64_t sign) {
    const WorldJob& asked = world_.jobs[job.row()];
    for (Slice slice : gang) {
      const std::int64_t tasks = sign * (slice.gpus / asked.task_gpus);
      CpuMemory& used = used_[slice.node];
      used.cpus.value += tasks * part_of_task(asked.asks.cpus, asked.gpus, asked.task_gpus);
      used.memory_gb.value +=
          tasks * part_of_task(asked.asks.memory_gb, asked.gpus, asked.task_gpus);
    }
  }
  void check(Time t, NodeId node) {
    const CpuMemory has = cluster_.has_of(node);
    const CpuMemory used = used_[node];
    const auto exceeds = [](Thousandths one, Thousandths most) {
      return most.value > 0 && one > most;
    };
    if (exceeds(used.cpus, has.cpus) || exceeds(used.memory_gb, has.memory_gb))
      problems.push_back(
          fmt::format("node {} has too little CPU or memory at {} ms", node.row(), t.ms));
  }

  const World& world_;
  const Cluster cluster_;
  IdVector<NodeId, CpuMemory> used_;
  std::map<JobId, std::vector<Slice>> gangs_;
};

}  // namespace

Simulation simulation_of(const World& world, std::unique_ptr<Policy> policy) {
  return valid(Simulation::make({.cluster = built_cluster(world),
                                 .trace = Trace(workload_of(world)),
                                 .policy = std::move(policy),
                                 .settings = world.settings,
                                 .seed = world.sim_seed,
                                 .until = world.until,
                                 .measured = false}));
}

bool makes_copies(std::string_view text) { return policy_named(text)()->needs().copies; }

PolicyOptions options_named(std::string_view text) {
  auto choice = parse_policy(text, 0);
  FL_CHECK(choice.has_value(), "{}", choice.error().message);
  return std::move(choice->options);
}

MakePolicy policy_named(std::string_view text, std::uint64_t seed) {
  return [text = std::string(text), seed] {
    const auto choice = parse_policy(text, seed);
    FL_CHECK(choice.has_value(), "{}", choice.error().message);
    auto policy = choice->make();
    FL_CHECK(policy.has_value(), "{}", policy.error().message);
    return std::move(*policy);
  };
}

Outcome run(const World& world, const MakePolicy& make, const BetweenSteps& between,
            RecordSink* also) {
  Simulation simulation = simulation_of(world, make());
  OutcomeSink outcome(world.jobs.size());
  Audit audit;
  RoomAudit room(world);
  UnlabelledJournal journal;
  simulation.add_sink(outcome);
  simulation.add_sink(audit);
  if (!world.nodes_have.empty()) simulation.add_sink(room);
  simulation.add_sink(journal);
  if (also != nullptr) simulation.add_sink(*also);
  Result<bool> more = simulation.step();
  for (; more.has_value() && *more; more = simulation.step()) {
    if (between) between(simulation);
  }
  std::vector<std::string> problems = audit.problems();
  problems.insert(problems.end(), room.problems.begin(), room.problems.end());
  if (!more) problems.push_back(more.error().message);
  return {.hash = journal.hash(),
          .jobs = outcome.take(),
          .counts = outcome.counts,
          .engine = simulation.counts(),
          .problems = std::move(problems)};
}

std::int64_t run_bare(const World& world, std::string_view policy_text,
                      const std::function<void(std::int64_t events)>& on_step) {
  Simulation simulation = simulation_of(world, policy_named(policy_text, world.seed)());
  JournalFile journal;
  simulation.add_sink(journal);
  while (valid(simulation.step())) on_step(simulation.counts().events);
  return simulation.counts().events;
}

Outcome run(const World& world, std::string_view policy) {
  return run(world, policy_named(policy, world.seed));
}

World random_world(std::uint64_t seed) {
  Rng rng(seed);
  const std::uint64_t nodes = 1 + rng.below(6);
  const std::uint64_t node_gpus = std::uint64_t{1} << rng.below(4);
  World world;
  world.cluster = fmt::format("{}xV100:{}", nodes, node_gpus);
  if (rng.below(3) == 0) world.cluster += fmt::format(",{}xK80:{}", 1 + rng.below(3), node_gpus);
  // Coarse times make equal times frequent; one world in three has odd milliseconds.
  const std::int64_t grain = rng.below(3) == 0 ? 1 : 1'000;
  const std::uint64_t span = 1 + rng.below(200);
  const std::uint64_t jobs = 1 + rng.below(40);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    std::uint64_t gpus = std::uint64_t{1} << rng.below(4);
    if (rng.below(4) == 0) gpus = 1 + rng.below(nodes * node_gpus);
    WorldJob job;
    job.submit = {static_cast<std::int64_t>(rng.below(span)) * grain};
    job.gpus = static_cast<std::uint32_t>(std::min(gpus, nodes * node_gpus));
    job.work = {(1 + static_cast<std::int64_t>(rng.below(rng.below(5) == 0 ? 1'000 : 60))) * grain};
    job.user = fmt::format("u{}", rng.below(4));
    world.jobs.push_back(job);
  }
  return world;
}

IdVector<JobId, JobBound> bounds_of(const World& world, bool copies) {
  const Cluster cluster = valid(cluster_of(world.cluster));
  Workload workload = workload_of(world);
  const SpeedTable table =
      world.settings.models.empty() ? builtin_models() : valid(load_models(world.settings.models));
  const Speed speed = valid(Speed::make(cluster, table, workload, "", world.settings.network));
  return job_bounds(cluster, workload, speed, copies);
}

std::vector<std::string> policy_variants() {
  std::vector<std::string> variants;
  for (const PolicyEntry* entry : all_policies()) variants.emplace_back(entry->name);
  variants.insert(
      variants.end(),
      {"fifo:skip=true",
       "fifo:placement=best-fit",
       "fifo:skip=true,placement=consolidate",
       "fifo:backfill=easy,placement=best-fit",
       "fifo:backfill=conservative,placement=consolidate",
       "ffdl:placement=spread",
       "gandiva:quantum_s=5",
       "gandiva:quantum_s=3,migrate=false",
       "lwf:kappa=4,skip=true",
       "philly:relax_s=3",
       "philly:relax_s=2,preempt_above=0,skip=true",
       "philly:quota=none,relax_s=0",
       "fifo:skip=true,placement=rack",
       "srtf:placement=consolidate",
       "srsf:placement=yarn",
       "srsf:upgrade=true",
       "las:placement=best-fit",
       "kube:gang=false,scoring_strategy=MostAllocated",
       "kube:scoring_strategy=RequestedToCapacityRatio,shape=0/10/50/0/100/5,max_backoff_s=2",
       "slurm:bf_interval_s=3,bf_resolution_s=1,priority_weight_age=100,"
       "priority_weight_fairshare=1000,priority_weight_job_size=50,priority_weight_partition=20,"
       "priority_job_factors=gpu:2/debug:1,default_time_s=20",
       "slurm:bf_interval_s=2,bf_job_part_count_reserve=1,default_time_s=5,placement=consolidate",
       "slurm:scheduler_type=builtin,priority_favor_small=true,priority_weight_job_size=9",
       "smallest:placement=first-fit",
       "themis:lease_s=5",
       "themis:lease_s=3,f=0,placement=consolidate",
       "fifo:mixed=true",
       "srtf:mixed=true",
       "philly:mixed=true",
       "lwf:mixed=true",
       "gang-stride:quantum_s=5,mixed=true",
       "tiresias:limits=5/60",
       "tiresias:limits=5/60,promote=2",
       "tiresias:limits=5/60,placement=yarn",
       "tiresias:limits=5/60,placement=consolidate,upgrade=true",
       "stride:quantum_s=5",
       "gang-stride:quantum_s=5",
       "gang-stride:quantum_s=5,cap=true,placement=consolidate",
       "gang-stride:quantum_s=5,skip=false",
       "proportional:round_s=5",
       "optimus:round_s=5,switch_s=1",
       "optimus:round_s=7,speed=fit,remaining=fit",
       "gandiva-fair:quantum_s=5",
       "gandiva-fair:quantum_s=3,gain=0,trade_quanta=1,price=external",
       "gandiva-fair:quantum_s=5,tickets=equal,balance=false",
       "gandiva-fair:quantum_s=5,turns=strict",
       "gandiva-fair:quantum_s=5,turns=stride,balance=false",
       "gandiva-fair:quantum_s=5,jobs_per_gpu_max=1.5,trade=false",
       "gandiva-fair:quantum_s=5,resident=true,notes=true",
       "gavel:round_s=5,reallocation_s=12",
       "gavel:round_s=5,reallocation_s=0,objective=ftf,placement=yarn",
       "gavel:round_s=5,reallocation_s=12,ties=none",
       "gavel:round_s=7,reallocation_s=20,objective=makespan,between_rounds=fill",
       "gavel:round_s=5,reallocation_s=12,objective=max-throughput,aware=false",
       "gavel:round_s=5,reallocation_s=12,objective=fifo,between_rounds=fill",
       "gavel:round_s=5,reallocation_s=12,objective=fifo,aware=false",
       "gavel:round_s=5,reallocation_s=12,objective=isolated",
       "gavel:round_s=5,reallocation_s=12,water_filling=true,aware=false",
       "hadar:round_s=5",
       "hadar:round_s=7,utility=ftf,prices=paper,beam=4,switch_s=0",
       "hadar:round_s=5,utility=makespan,work_conserving=false,mixed=false",
       "hadar:round_s=5,utility=throughput,prices=none,beam=1,preempt=false,between_rounds=wait",
       "fairlead:round_s=5,window_s=12,switch_s=1",
       "fairlead:round_s=3,window_s=inf,notes=true",
       "fairlead:round_s=5,window_s=12,switch_s=1,copies=0",
       "fairlead:round_s=4,window_s=inf,switch_s=0,copies=2,resident=true",
       "hadare:round_s=5,switch_s=1",
       "hadare:round_s=5,switch_s=0,utility=jct,copies=2",
       "dally:node_s=5,rack_s=9,round_s=7,limits_gpu_s=5/60,switch_s=0",
       "dally:node_s=5,rack_s=9,mode=manual,preempt=none",
       "dally:mode=no-wait,preempt=las,round_s=3,limits_gpu_s=5/60,switch_s=1",
       "dally:mode=fully-consolidated,preempt=network,score=slowdown,round_s=5"});
  return variants;
}

bool may_deadlock(std::string_view variant) {
  const bool is_gavel_in_racks =
      variant.starts_with("gavel") && variant.find("placement=yarn") != std::string_view::npos;
  return variant.starts_with("kube:gang=false") || is_gavel_in_racks;
}

}  // namespace fairlead
