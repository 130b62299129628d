// The contract of every backend (watched_backend.h), whatever its world is. An engine whose policy
// preempts drives each of them, with the same jobs. A backend joins by one more line in kBackends.

#include "fairlead/base/rng.h"
#include "fairlead/engine/engine.h"
#include "fairlead/input/models_file.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/kube/testing_faults.h"
#include "fairlead/local/local_world.h"
#include "fairlead/pods/pods_world.h"
#include "fairlead/policy/registry.h"
#include "fairlead/sim/sim_backend.h"
#include "fairlead/sim/unreliable.h"
#include "testing/steps.h"

#include "contract/watched_backend.h"
#include <gtest/gtest.h>

#include <memory>
#include <ostream>

namespace fairlead {
namespace {

// The parts of a backend, which outlive it.
struct Scene {
  explicit Scene(std::uint64_t of_seed) : seed(of_seed), cluster(racks_of_nodes(1, 3, 4)) {
    Rng rng(seed);
    std::vector<TestJob> jobs(15);
    for (TestJob& job : jobs) {
      job = {.gpus = 1 + static_cast<std::uint32_t>(rng.below(8)),
             .submit_s = static_cast<std::int64_t>(rng.below(60)),
             .work_s = 1 + static_cast<std::int64_t>(rng.below(60)),
             .user = fmt::format("u{}", rng.below(3))};
    }
    workload = numbered_jobs(jobs, [](JobRow& row, const TestJob& job) {
      row.user = job.user;
      row.gpus = job.gpus;
      row.submit = {job.submit_s * 1000};
      row.duration = seconds(job.work_s);
    });
    speed = Speed::make(cluster, builtin_models(), workload, "").value();
  }

  std::uint64_t seed;
  Cluster cluster;
  Workload workload;
  Speed speed;
};

// A backend, and the test's knowledge of its world beyond the backend's reports.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Backend& backend() = 0;
  // Called with the engine that the backend serves.
  virtual void attach(const Engine& /*engine*/) {}
  virtual Users first_users(const Scene& scene) const { return scene.workload.users; }
  // Called with each record of the engine.
  virtual void on(const Record& /*record*/) {}
  // Returns an error in the world itself, or an empty text.
  virtual std::string look() const { return ""; }
};

class Simulated : public Subject {
 public:
  Simulated(const Scene& scene, const FaultOptions& faults)
      : inside_(scene.cluster, scene.workload, scene.speed,
                {.costs = {}, .faults = faults, .seed = scene.seed}) {}
  Backend& backend() override { return inside_; }

 protected:
  SimBackend inside_;
};

class Unreliable : public Simulated {
 public:
  Unreliable(const Scene& scene, const FaultOptions& faults, const UnreliableOptions& options)
      : Simulated(scene, faults),
        backend_(inside_, scene.cluster, scene.workload.users, options, scene.seed) {}
  Backend& backend() override { return backend_; }
  Users first_users(const Scene& /*scene*/) const override { return backend_.first_users(); }

  // A gang may run on a GPU only once the one before is gone, and a job in one place at a time.
  std::string look() const override {
    std::map<NodeId, std::uint64_t> busy;
    std::set<JobId> jobs;
    for (const auto& running : backend_.running()) {
      if (!jobs.insert(running.job).second) return "a job runs twice";
      for (std::size_t i = 0; i < running.slices.size(); ++i) {
        std::uint64_t& gpus = busy[running.slices[i].node];
        if ((gpus & running.gpu_masks[i]) != 0) return "two gangs run on one GPU";
        gpus |= running.gpu_masks[i];
      }
    }
    return "";
  }

 private:
  UnreliableBackend backend_;
};

// Tasks of a machine in memory, some of which cannot be started or frozen at once, or ignore
// requests to stop.
class Local : public Subject, private SimClients {
 public:
  Local(const Scene& scene, const SimFaults& faults) : scene_(scene), io_(scene.seed, faults) {
    for (NodeId node : ids<NodeId>(scene.cluster.nodes())) {
      for (std::uint32_t i = 0; i < scene.cluster.node_gpus[node]; ++i) {
        machine_.gpu_names.push_back(fmt::format("{}", machine_.gpu_names.size()));
      }
    }
    machine_.cluster = scene.cluster;
    machine_.speed.resize(scene.cluster.type_names.size(), 1);
    io_.network().set_clients(this);
    for (JobId job : ids<JobId>(scene.workload.jobs.size())) {
      io_.network().wake(job.row(), scene.workload.jobs.arrival[job]);
    }
  }
  Backend& backend() override { return world_; }
  void attach(const Engine& engine) override {
    engine_ = &engine;
    conditions_.emplace(io_, engine.tables(), inbox_);
    tasks_.emplace(io_, engine.tables(), machine_, seconds(20), inbox_, *conditions_,
                   world_.limits());
    world_.set_backend(*tasks_);
  }
  std::string look() const override {
    std::set<JobId> jobs;
    std::set<std::uint32_t> busy;
    std::string wrong;
    for (const auto& [id, task] : io_.processes().all()) {
      if (!task.is_alive()) continue;
      if (!jobs.insert(id.job).second) return "a job has two tasks";
      if (!task.is_thawed() || task.left_frozen) continue;
      for (std::uint32_t gpu : task.gpus) {
        if (!busy.insert(gpu).second) return "two tasks work on one GPU";
      }
    }
    const JobCounts& done = engine_->tables().counts;
    if (std::cmp_equal(done.finished + done.failed, scene_.workload.jobs.size())) io_.terminate();
    return "";
  }

 private:
  void wake(std::uint64_t row) override {
    const JobId job(row);
    const Jobs& jobs = scene_.workload.jobs;
    const Duration work = scene_.workload.durations[job];
    const char* on_term = row % 3 == 0 ? "term=ignore" : "term=checkpoint:500";
    const JobSpec spec{.job = job,
                       .user = jobs.user[job],
                       .name = scene_.workload.names[job],
                       .gpus = jobs.gpus[job],
                       .gpus_min = jobs.gpus[job],
                       .gpus_max = jobs.gpus[job],
                       .task_gpus = jobs.task_gpus[job]};
    inbox_.add(spec);
    tasks_->add_new(
        spec, {.command = {"work", fmt::format("{}", work.ms), "every=1", on_term}, .folder = "/"},
        0);
    io_.network().connect({});  // what is in the inbox came through the door
  }
  void received(ConnectionId /*connection*/, std::string_view /*bytes*/) override {}
  void closed(ConnectionId /*connection*/) override {}

  const Scene& scene_;
  Machine machine_;
  mutable SimIo io_;
  Inbox inbox_;
  LocalWorld world_{io_, inbox_, [] { return Status(); }, [](const IoEvent&) {},
                    [] { return Time::never(); }};
  std::optional<StartConditions> conditions_;
  std::optional<LocalBackend> tasks_;
  const Engine* engine_ = nullptr;
};

// Jobs of a Kubernetes cluster in memory. With `faults`, its API server refuses and loses calls, streams end and
// break, its history is forgotten, it is away for a while, and nodes are lost and come back.
class Pods : public Subject {
 public:
  Pods(const Scene& scene, const FakeRates& rates, bool is_disturbed)
      : jobs_(scene.workload.jobs.size()), server_(scene.seed) {
    for (NodeId node : ids<NodeId>(scene.cluster.nodes())) {
      server_.add_node({.name = scene.cluster.node_names[node],
                        .gpus = scene.cluster.node_gpus[node],
                        .product = "Tesla-V100-SXM2-16GB"});
    }
    for (JobId job : ids<JobId>(jobs_)) {
      server_.at(scene.workload.jobs.arrival[job], [this, &scene, job] { add(scene, job); });
    }
    // Kubelets report the status of their nodes from time to time, changed or not.
    for (std::int64_t at = 300; at < kLimit.ms / 1000; at += 300) {
      for (const std::string& name : scene.cluster.node_names) {
        server_.at(Time{} + seconds(at), [this, name] { server_.set_node_ready(name, true); });
      }
    }
    server_.set_rates(rates);
    if (is_disturbed) disturb(scene);
    door_ = server_.open();
    world_.emplace(*door_, PodsOptions());
    FL_CHECK(world_->sync(door_->now() + seconds(120)).has_value());
    FL_CHECK(world_->make_cluster().value().nodes() == scene.cluster.nodes());
    world_->found(scene.cluster);  // none: none was placed
  }
  Backend& backend() override { return *world_; }
  void attach(const Engine& engine) override {
    engine_ = &engine;
    world_->attach(engine.tables());
  }
  Users first_users(const Scene& /*scene*/) const override { return {}; }
  void on(const Record& record) override { world_->on(record); }
  std::string look() const override {
    const Tables& tables = engine_->tables();
    const JobCounts& done = tables.counts;
    const bool are_done = std::cmp_equal(done.finished + done.failed, jobs_);
    const bool is_late = server_.now() > Time{} + kLimit;
    if (is_late || (are_done && tables.stopping.empty())) server_.terminate();
    if (is_late) return "not all jobs have ended";
    const bool is_news = std::exchange(looked_at_, pods_version()) != pods_version();
    return is_news ? refusal(server_) : "";
  }

 private:
  void add(const Scene& scene, JobId job) {
    const Jobs& jobs = scene.workload.jobs;
    server_.add_job({.name_space = scene.workload.users.names[jobs.user[job]],
                     .name = std::string(scene.workload.names[job]),
                     .pods = jobs.gpus[job] / jobs.task_gpus[job],
                     .gpus = jobs.task_gpus[job],
                     .run = scene.workload.durations[job]});
  }
  std::uint64_t pods_version() const { return server_.store().version_of(std::string(kPods)); }
  void disturb(const Scene& scene) {
    Rng rng(scene.seed);
    for (std::int64_t at = 10; at < 300; at += 30) {
      const NodeId node(rng.below(scene.cluster.nodes()));
      const std::string name = scene.cluster.node_names[node];
      const auto what = rng.below(4);
      server_.at(Time{} + seconds(at), [this, name, what] {
        if (what == 0) server_.compact();
        if (what <= 1) server_.break_streams();
        if (what == 2) server_.go_away(seconds(10));
        if (what == 3) server_.set_node_ready(name, false);
      });
      server_.at(Time{} + seconds(at + 20), [this, name] { server_.set_node_ready(name, true); });
    }
  }

  static constexpr Duration kLimit = seconds(2 * 3600);  // that all jobs end within

  const std::size_t jobs_;
  mutable FakeServer server_;
  mutable std::uint64_t looked_at_ = 0;  // the version of the pods
  std::unique_ptr<KubeDoor> door_;
  std::optional<PodsWorld> world_;
  const Engine* engine_ = nullptr;
};

// Returns rates so high that most runs meet each kind of fault.
FakeRates kube_rates() {
  return {.conflict = 0.03,
          .too_many = 0.02,
          .internal = 0.03,
          .lost_request = 0.02,
          .lost_answer = 0.03,
          .late = 0.02,
          .stream_ends = 0.1,
          .stream_breaks = 0.1,
          .stream_dies = 0.1};
}

UnreliableOptions rates() {
  return {.late_max = seconds(3),
          .start_max = seconds(8),
          .stop_max = seconds(8),
          .repeat = 0.3,
          .shuffle = 0.5,
          .start_fails = 0.2,
          .stop_fails = 0.3,
          .gpu_losses_per_h = 40,
          .gpus_back_max = seconds(60),
          .operators_per_h = 100,
          .users_come = 1,
          .calm_from = {300'000}};
}

// Without start_fails and operators, which need calm: they leave cordons and jobs that are held.
UnreliableOptions never_calm() {
  UnreliableOptions options = rates();
  options.start_fails = 0;
  options.operators_per_h = 0;
  options.calm_from = Time::never();
  return options;
}

FaultOptions faults() {
  FaultOptions faults;
  faults.mtbf_h = 0.02;
  faults.mttr_h = 0.01;
  return faults;
}

struct Kind {
  std::string_view name;
  std::unique_ptr<Subject> (*make)(const Scene& scene);
  std::uint64_t seeds = 30;
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

constexpr std::uint64_t kPodsSeeds = 8;  // a run takes half a second

const Kind kBackends[] = {
    {"Sim",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Simulated>(scene, FaultOptions());
     }},
    {"SimWithFaults",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Simulated>(scene, faults());
     }},
    {"UnreliableWithoutRates",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Unreliable>(scene, FaultOptions(), UnreliableOptions());
     }},
    {"Unreliable",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Unreliable>(scene, FaultOptions(), rates());
     }},
    {"UnreliableWithFaults",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Unreliable>(scene, faults(), rates());
     }},
    {"Local",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Local>(scene, SimFaults());
     }},
    {"LocalWithFaults",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Local>(
           scene,
           SimFaults{
               .start_fails = 0.1, .freeze_fails = 0.1, .late_notice = 0.2, .told_twice = 0.2});
     }},
    {"Pods",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Pods>(scene, FakeRates(), false);
     },
     kPodsSeeds},
    {"PodsWithFaults",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Pods>(scene, kube_rates(), false);
     },
     kPodsSeeds},
    {"PodsWithOutages",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Pods>(scene, kube_rates(), true);
     },
     kPodsSeeds},
    {"UnreliableForEver",
     [](const Scene& scene) -> std::unique_ptr<Subject> {
       return std::make_unique<Unreliable>(scene, FaultOptions(), never_calm());
     }},
};

struct Driven {
  std::vector<std::string> broken;
  std::string hash;  // hash of the journal
  std::int64_t stops = 0;
};

Driven drive(const Kind& kind, std::uint64_t seed, bool repeats_steps) {
  const Scene scene(seed);
  const std::unique_ptr<Subject> subject = kind.make(scene);
  class Sink : public RecordSink {
   public:
    explicit Sink(Subject& of) : subject(of) {}
    void on(const Record& record) override {
      journal.on(record);
      subject.on(record);
      stops += std::holds_alternative<record::Stop>(record.what) ? 1 : 0;
    }
    Subject& subject;
    JournalFile journal;
    std::int64_t stops = 0;
  } sink(*subject);
  WatchedBackend backend(subject->backend());
  backend.repeats_steps = repeats_steps;
  backend.look = [&] { return subject->look(); };
  const std::unique_ptr<Policy> policy =
      parse_policy("tiresias:limits=5/60", seed).value().make().value();
  Engine engine(scene.cluster, &scene.speed, *policy, backend, sink, {});
  subject->attach(engine);
  engine.begin({}, subject->first_users(scene));
  while (engine.step().value()) {
  }
  Driven driven{.broken = backend.broken(), .hash = {}, .stops = sink.stops};
  if (!backend.has_ended()) driven.broken.emplace_back("the run ended before the world");
  FL_CHECK(sink.journal.close().has_value());
  driven.hash = sink.journal.hash();
  return driven;
}

class BackendContract : public testing::TestWithParam<Kind> {};

TEST_P(BackendContract, IsKept) {
  std::int64_t stops = 0;
  for (std::uint64_t seed = 0; seed < GetParam().seeds; ++seed) {
    const Driven driven = drive(GetParam(), seed, false);
    EXPECT_EQ(driven.broken, std::vector<std::string>{}) << "seed " << seed;
    stops += driven.stops;
  }
  EXPECT_GT(stops, 0);
}

// A step is identified by its job and run. A simulated world carries out steps in expect(), so it
// always keeps this rule.
TEST_P(BackendContract, AStepThatIsCarriedOutTwiceHasTheEffectOfOne) {
  for (std::uint64_t seed = 0; seed < GetParam().seeds; ++seed) {
    EXPECT_EQ(drive(GetParam(), seed, true).hash, drive(GetParam(), seed, false).hash)
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, BackendContract, testing::ValuesIn(kBackends),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Breaks one promise after the other.
class Liar : public Backend {
 public:
  Batch wait(Time /*until*/, bool /*awaited*/) override {
    switch (waits_++) {
      case 0:
        return {.now = Time{20'000}};  // later than the requested 10 s
      case 1:
        return {.now = Time{5'000}};
      case 2:
        events_ = {{.kind = EventKind::kArrived, .job = JobId(0)},
                   {.kind = EventKind::kFinished, .job = JobId(1), .run = 1}};
        return {.now = Time{20'000}, .events = events_};
      case 3:
        events_ = {{.kind = EventKind::kStarted, .job = JobId(0), .run = 1},
                   {.kind = EventKind::kStartFailed, .job = JobId(0), .run = 1}};
        return {.now = Time{20'000}, .events = events_};
      default:
        return {.now = Time{20'000}, .ended = true};
    }
  }
  std::span<const SpeedChange> expect(Time /*now*/, std::span<Step> /*steps*/) override {
    return {};
  }
  void carry_out(Time /*now*/, std::span<const Step> /*steps*/) override {}
  bool reports_steps() const override { return true; }

 private:
  int waits_ = 0;
  std::vector<Event> events_;
};

TEST(WatchedBackend, NotesEachPromiseThatIsBroken) {
  Liar liar;
  WatchedBackend watched(liar);
  const Step steps[] = {
      {.kind = Step::Kind::kPlace, .job = JobId(0), .run = 1},
      {.kind = Step::Kind::kPlace, .job = JobId(0), .run = 2},
      {.kind = Step::Kind::kStop, .job = JobId(0), .run = 2},
  };
  watched.carry_out({}, steps);
  for (int i = 0; i < 5; ++i) watched.wait(Time{i == 0 ? 10'000 : 30'000}, false);
  EXPECT_EQ(watched.broken(),
            (std::vector<std::string>{
                "0s: an instant beyond the one to wait for", "20s: an instant before the last",
                "20s, j1#1: an event about a run that no step began",
                "20s: the jobs are not those of the arrivals",
                "20s, j0#1: it started, and its start failed", "20s, j0#2: its run never ends",
                "20s, j0#2: its stop is never told"}));
}

}  // namespace
}  // namespace fairlead
