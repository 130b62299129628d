// Contention in the whole simulated world: the engine, a policy, the backend and the audit.

#include "fairlead/sim/network.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/base/rng.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"
#include "testing/borrowed_policy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>

namespace fairlead {
namespace {

// Places each job on the gang written for it, as soon as that is free; stops and moves nothing.
class Script : public Policy {
 public:
  explicit Script(std::vector<std::vector<Slice>> gangs) : gangs_(std::move(gangs)) {}
  std::string_view name() const override { return "script"; }
  Needs needs() const override { return {}; }
  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) told_of_speed |= event.kind == EventKind::kProgress;
    std::vector<JobId> waiting(view.waiting.begin(), view.waiting.end());
    std::ranges::sort(waiting);
    for (JobId job : waiting) {
      const auto& gang = gangs_[job.row()];
      const auto fits = [&](Slice slice) { return plan.free().on(slice.node) >= slice.gpus; };
      if (!std::ranges::all_of(gang, fits)) continue;
      for (Slice slice : gang) plan.take(slice.node, slice.gpus);
      plan.place(job);
    }
  }
  void fields(Archive&) override {}

  bool told_of_speed = false;

 private:
  std::vector<std::vector<Slice>> gangs_;
};

struct TestJob {
  std::int64_t submit_ms = 0;
  std::uint32_t gpus = 2;
  std::int64_t work_ms = 60'000;
  std::string model = "m";
};

struct Changed {
  std::int64_t ms;
  std::uint32_t job;
  double rate;
};

// The records that a run wrote.
class Seen : public RecordSink {
 public:
  explicit Seen(std::size_t jobs) : finish_ms(jobs, 0) {}
  void on(const Record& record) override {
    std::visit(Overloaded{[&](const record::Place& place) {
                            placed.push_back({record.t.ms, place.job.row(), place.rate.value()});
                            locality.push_back(place.locality.value());
                          },
                          [&](const record::Speed& speed) {
                            changed.push_back({record.t.ms, speed.job.row(), speed.rate.value()});
                          },
                          [&](const record::Finished& finished) {
                            finish_ms[finished.job.row()] = record.t.ms;
                          },
                          [](const auto&) {}},
               record.what);
  }
  std::vector<Changed> placed;
  std::vector<double> locality;
  std::vector<Changed> changed;
  std::vector<std::int64_t> finish_ms;
  std::string hash;
};

// Racks of two hosts of 4 GPUs. 8 Gbit/s are 1 MB in a millisecond.
constexpr const char* kLab =
    "links: {pair_gbps: 8, node_gbps: 8, rack_gbps: 8, spine_gbps: 4}\n"
    "racks: [{count: 2, nodes: {count: 2, gpu_type: V100, gpus: 4}}]";
// An iteration of two on one host or in one rack: 100 ms each of computing and of exchanging.
constexpr const char* kModels =
    "models: [{name: m, rates: {V100: 1}, communication: {bytes_mb: 100, compute_ms: 100}},"
    "         {name: quiet, rates: {V100: 1}}]";

struct Bench {
  std::string cluster = kLab;
  std::vector<TestJob> jobs;
  NetworkOptions network = {.kind = NetworkKind::kContention};
  FaultOptions faults;
  std::string models = kModels;

  Seen run(std::unique_ptr<Policy> policy) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < jobs.size(); ++i) names.push_back(fmt::format("j{}", i));
    std::vector<JobRow> rows;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      rows.push_back({.id = names[i],
                      .user = "ann",
                      .model = jobs[i].model,
                      .gpus = jobs[i].gpus,
                      .submit = {jobs[i].submit_ms},
                      .duration = {jobs[i].work_ms}});
    }
    Settings settings{.costs = Costs::none()};
    settings.faults = faults;
    settings.network = network;
    settings.unknown_speed =
        UnknownSpeed::kSlowest;  // one test has K80s, which the model does not know
    Simulation simulation = Simulation::make({.cluster = *parse_cluster_yaml(cluster, "lab"),
                                              .trace = Trace::of("test", rows).value(),
                                              .policy = std::move(policy),
                                              .settings = settings,
                                              .models = *parse_models_yaml(models, "test"),
                                              .measured = false})
                                .value();
    Seen seen(jobs.size());
    Audit audit;
    JournalFile journal;
    simulation.add_sink(seen);
    simulation.add_sink(audit);
    simulation.add_sink(journal);
    EXPECT_TRUE(simulation.run().has_value());
    EXPECT_EQ(audit.problems(), std::vector<std::string>{});
    EXPECT_TRUE(journal.close().has_value());
    seen.hash = journal.hash();
    return seen;
  }
  Seen run(const std::string& text) const { return run(parse_policy(text, 0)->make().value()); }
  Seen run(std::vector<std::vector<Slice>> gangs) const {
    Script script(std::move(gangs));
    const Seen seen = run(std::make_unique<BorrowedPolicy>(script));
    EXPECT_FALSE(script.told_of_speed);
    return seen;
  }
};

const std::vector<Slice> kFirstRack = {{NodeId(0), 1}, {NodeId(1), 1}};
const std::vector<Slice> kSecondRack = {{NodeId(2), 1}, {NodeId(3), 1}};
const std::vector<Slice> kBothRacks = {{NodeId(0), 1}, {NodeId(2), 1}};

TEST(Network, AGangThatHasItsLinksToItselfRunsAtItsOwnSpeed) {
  const Bench bench{.jobs = {{}, {}}};
  const Seen seen = bench.run({kFirstRack, kSecondRack});
  EXPECT_EQ(seen.finish_ms, (std::vector<std::int64_t>{60'000, 60'000}));
  EXPECT_TRUE(seen.changed.empty());
}

// Two share 8 Gbit/s: an iteration takes 300 ms instead of 200, a speed of 2/3. The shorter job's 30 s are done at 45
// s; the longer one has 30 s of work left and continues at full speed.
TEST(Network, GangsThatShareALinkSlowEachOtherDownAndSpeedUpWhenTheOtherEnds) {
  const Bench bench{.jobs = {{}, {.work_ms = 30'000}}};
  const Seen seen = bench.run({kFirstRack, kFirstRack});
  EXPECT_NEAR(static_cast<double>(seen.finish_ms[1]), 45'000, 1);
  EXPECT_NEAR(static_cast<double>(seen.finish_ms[0]), 75'000, 1);
  ASSERT_EQ(seen.placed.size(), 2U);
  EXPECT_NEAR(seen.placed[0].rate, 2.0 / 3, 1e-9);
  EXPECT_NEAR(seen.locality[0], 1.0 / 3, 1e-9) << "100 of 300 ms compute";
  ASSERT_EQ(seen.changed.size(), 1U);
  EXPECT_EQ(seen.changed[0].ms, seen.finish_ms[1]);
  EXPECT_EQ(seen.changed[0].rate, 1);
}

TEST(Network, AnArrivalSlowsWhoRunsAlreadyAtThatInstant) {
  const Bench bench{.jobs = {{}, {.submit_ms = 20'000}}};
  const Seen seen = bench.run({kFirstRack, kFirstRack});
  ASSERT_FALSE(seen.changed.empty());
  EXPECT_EQ(seen.changed[0].ms, 20'000);
  EXPECT_EQ(seen.changed[0].job, 0U);
  EXPECT_NEAR(seen.changed[0].rate, 2.0 / 3, 1e-9);
  EXPECT_NEAR(static_cast<double>(seen.finish_ms[0]), 20'000 + 60'000, 1);
}

// Job 1 ends and job 2 takes its place at that instant: job 0 has as much of the link as before.
TEST(Network, AGangThatTakesTheLinksOfOneThatEndsChangesNoOthersSpeed) {
  const Bench bench{.jobs = {{}, {.gpus = 6, .work_ms = 15'000}, {.gpus = 6, .work_ms = 15'000}}};
  const std::vector<Slice> rest = {{NodeId(0), 3}, {NodeId(1), 3}};
  const Seen seen = bench.run({kFirstRack, rest, rest});
  ASSERT_EQ(seen.placed.size(), 3U);
  EXPECT_EQ(seen.placed[2].ms, seen.finish_ms[1]);
  EXPECT_LT(seen.placed[2].rate, 1);
  ASSERT_FALSE(seen.changed.empty());
  EXPECT_EQ(seen.changed[0].ms, std::min(seen.finish_ms[0], seen.finish_ms[2]));
}

// The penalty is 100 MB x 0.5 ms: 350 ms instead of 200.
TEST(Network, APenaltyIsPaidForEachMegabyteAndOtherGang) {
  const Bench bench{.jobs = {{}, {}},
                    .network = {.kind = NetworkKind::kContention, .penalty_ms_per_mb = 0.5}};
  const Seen seen = bench.run({kFirstRack, kFirstRack});
  EXPECT_NEAR(seen.placed[0].rate, 200.0 / 350, 1e-9);
}

// Over the spine one gang has 4 Gbit/s, so an iteration takes 300 ms; two on the same uplinks 500.
TEST(Network, RacksHaveOneUplinkThatAllTheirHostsShare) {
  Bench bench{.jobs = {{}, {}}};
  const std::vector<Slice> other_hosts = {{NodeId(1), 1}, {NodeId(3), 1}};
  EXPECT_NEAR(bench.run({kBothRacks, other_hosts}).placed[0].rate, 200.0 / 500, 1e-9);
  bench.cluster =
      std::string(kLab).insert(std::string_view(kLab).find('}'), ", oversubscription: 2");
  EXPECT_NEAR(bench.run({kBothRacks, other_hosts}).placed[0].rate, 200.0 / 300, 1e-9)
      << "the uplink carries 2 x 8 / 2 Gbit/s, which both can have";
}

// Each rack is one host of two nodes, so its uplink carries 8 / 2 Gbit/s. Two gangs share them: an iteration takes 100
// + 400 ms instead of 200.
TEST(Network, AnUplinkCountsTheHostsOfItsRackNotTheirNodes) {
  Bench bench{.jobs = {{}, {}}};
  bench.cluster =
      "links: {pair_gbps: 8, node_gbps: 8, rack_gbps: 8, spine_gbps: 4, oversubscription: 2}\n"
      "racks: [{count: 2, nodes: {count: 1, gpus: [{type: V100, count: 2}, {type: K80, count: "
      "2}]}}]";
  EXPECT_NEAR(bench.run({kBothRacks, kBothRacks}).placed[0].rate, 200.0 / 500, 1e-9);
}

// The links between hosts carry 4 instead of 8 Gbit/s. A gang alone gets all of it, so an iteration takes 100 + 200 ms
// instead of 200; two share it and take 100 + 400 ms.
TEST(Network, CongestionLeavesLessOfALinkToShare) {
  Bench bench{.jobs = {{}},
              .network = {.kind = NetworkKind::kContention, .congestion = {1, 1, 2, 1}}};
  EXPECT_NEAR(bench.run({kFirstRack}).placed[0].rate, 200.0 / 300, 1e-9);
  bench.jobs.push_back({});
  EXPECT_NEAR(bench.run({kFirstRack, kFirstRack}).placed[0].rate, 200.0 / 500, 1e-9);
}

TEST(Network, AModelThatSaysNothingOfItsCommunicationNeitherSlowsNorIsSlowed) {
  const Bench bench{.jobs = {{}, {.model = "quiet"}, {.model = "quiet"}}};
  const Seen seen = bench.run({kFirstRack, kFirstRack, kFirstRack});
  EXPECT_EQ(seen.finish_ms, (std::vector<std::int64_t>{60'000, 60'000, 60'000}));
}

// Job 0 works alone for 5 s, then at 2/3, and its node fails at 17 s. The work since its checkpoint at 10 s is lost,
// although its speed changes in between (at 14 s).
TEST(Network, AnEvictionLosesTheWorkSinceTheCheckpointAtTheSpeedsThatItHadThen) {
  Bench bench{.jobs = {{}, {.submit_ms = 5'000, .work_ms = 6'000}}};
  bench.faults.outages = {{NodeId(1), Time{17'000}, Time{30'000}}};
  bench.faults.checkpoint_interval = seconds(10);
  const Seen seen = bench.run({kFirstRack, kFirstRack});
  EXPECT_NEAR(static_cast<double>(seen.finish_ms[1]), 14'000, 1);
  // Kept: 5 s + 5 s x 2/3.
  EXPECT_NEAR(static_cast<double>(seen.finish_ms[0]), 30'000 + 60'000 - 5'000 - 5'000 * 2 / 3.0, 1);
}

Bench drawn_bench() {
  Bench bench;
  const int racks = *rc::gen::inRange(1, 4);
  bench.cluster = fmt::format(
      "links: {{pair_gbps: 80, node_gbps: 40, rack_gbps: {}, spine_gbps: {}, latency_us: {}}}\n"
      "racks: [{{count: {}, nodes: {{count: 3, gpu_type: V100, gpus: 2}}}}]",
      *rc::gen::inRange(1, 40), *rc::gen::inRange(1, 20), *rc::gen::inRange(0, 50), racks);
  for (int i = *rc::gen::inRange(1, 25); i > 0; --i) {
    bench.jobs.push_back(
        {.submit_ms = *rc::gen::inRange(0, 40) * 1'000,
         .gpus = *rc::gen::inRange<std::uint32_t>(1, static_cast<std::uint32_t>(racks) * 6 + 1),
         .work_ms = *rc::gen::inRange(1, 60'000),
         .model = *rc::gen::element<std::string>("m", "m", "quiet")});
  }
  if (*rc::gen::inRange(0, 2) == 0) {
    bench.faults.mtbf_h = 0.05;
    bench.faults.mttr_h = 0.01;
    bench.faults.checkpoint_interval = seconds(*rc::gen::inRange(1, 20));
  }
  return bench;
}

std::string drawn_policy() {
  return *rc::gen::element<std::string>("fifo:skip=true", "srtf", "tiresias:limits=5/60",
                                        "gang-stride:quantum_s=5", "las:placement=best-fit");
}

// run() audits: rates, finishes, lost work.
RC_GTEST_PROP(Network, KeepsEveryMillisecondOfWorkUnderAnyPolicyAndFaults, ()) {
  Bench bench = drawn_bench();
  bench.network.penalty_ms_per_mb = *rc::gen::inRange(0, 3);
  const std::string policy = drawn_policy();
  const Seen seen = bench.run(policy);
  RC_ASSERT(std::ranges::all_of(seen.finish_ms, [](std::int64_t ms) { return ms > 0; }));
  RC_ASSERT(seen.hash == bench.run(policy).hash);
  RC_CLASSIFY(!seen.changed.empty(), "speeds changed");
}

RC_GTEST_PROP(Network, WithLinksOfNoLimitEqualsTheOtherTwoModels, ()) {
  Bench bench = drawn_bench();
  bench.cluster =
      "links: {pair_gbps: 1000000, node_gbps: 1000000, rack_gbps: 1000000, spine_gbps: 1000000}\n"
      "racks: [{count: 3, nodes: {count: 3, gpu_type: V100, gpus: 2}}]";
  bench.models =  // its exchange hides behind its computation
      "models: [{name: m, rates: {V100: 1},"
      "          communication: {bytes_mb: 100, compute_ms: 100, overlap: 1}},"
      "         {name: quiet, rates: {V100: 1}}]";
  const std::string policy = drawn_policy();
  const std::string hash = bench.run(policy).hash;
  bench.network.kind = NetworkKind::kAnalytic;
  RC_ASSERT(bench.run(policy).hash == hash);
  bench.network.kind = NetworkKind::kProfiled;
  RC_ASSERT(bench.run(policy).hash == hash);
}

// Gangs that fit one host, on hosts of their own or together, run as if they were alone.
RC_GTEST_PROP(Network, JobsOnOneHostNeverSlowEachOther, ()) {
  Bench bench = drawn_bench();
  for (TestJob& job : bench.jobs) job.gpus = 1 + job.gpus % 2;
  const std::string policy = "fifo:placement=consolidate";
  const Seen seen = bench.run(policy);
  RC_ASSERT(seen.changed.empty());
  bench.network.kind = NetworkKind::kAnalytic;
  RC_ASSERT(bench.run(policy).hash == seen.hash);
}

RC_GTEST_PROP(Network, ContentionNeverMakesAGangFasterThanItIsAlone, ()) {
  Bench bench = drawn_bench();
  const Cluster cluster = *parse_cluster_yaml(bench.cluster, "lab");
  std::vector<std::vector<Slice>> gangs;
  for (TestJob& job : bench.jobs) {
    job.gpus = std::min(job.gpus, cluster.gpus);
    std::vector<Slice> gang;
    std::uint32_t left = job.gpus;
    for (std::size_t node = 0; left > 0; ++node) {  // one GPU of each node, then the second
      const std::size_t row = node % cluster.nodes();
      if (node < cluster.nodes()) gang.push_back({NodeId(row), 0});
      ++gang[row].gpus;
      --left;
    }
    gangs.push_back(gang);
  }
  const Seen shared = bench.run(gangs);
  bench.network.kind = NetworkKind::kAnalytic;
  bench.faults = {};
  std::vector<double> alone(bench.jobs.size());
  for (const Changed& placed : bench.run(gangs).placed) alone[placed.job] = placed.rate;
  for (const auto* records : {&shared.placed, &shared.changed}) {
    for (const Changed& record : *records) {
      RC_ASSERT(record.rate <= alone[record.job]);
      RC_ASSERT(record.rate > 0);
    }
  }
}

}  // namespace
}  // namespace fairlead
