// Tests Dally with shared links: the places that it accepts, and its saved state.
#include "testing/steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

// "loud" exchanges 100 MB for each 100 ms of computation, "quiet" nothing.
constexpr std::string_view kModels =
    "models: [{name: loud, weight: 1, rates: {V100: 1},"
    "          communication: {bytes_mb: 100, compute_ms: 100}},"
    "         {name: quiet, weight: 1, rates: {V100: 1}}]";

// 8 Gbit/s are 1 MB in a millisecond; an exchange within a host takes practically no time.
Cluster racks_of_nodes_with_links(std::uint32_t racks, std::uint32_t nodes, std::uint32_t gpus) {
  Cluster cluster = racks_of_nodes(racks, nodes, gpus);
  cluster.links = {.pair_gbps = 8e6, .node_gbps = 8e6, .rack_gbps = 80, .spine_gbps = 8};
  return cluster;
}

struct Ran {
  Happened happened;
  std::string hash;
};

Ran run_shared(Cluster cluster, const std::vector<TestJob>& jobs, std::string_view policy,
               NetworkKind kind, std::optional<std::uint64_t> reload_seed = {}) {
  SimulationInputs inputs{.cluster = std::move(cluster),
                          .trace = Trace(numbered_jobs(jobs,
                                                       [](JobRow& row, const TestJob& job) {
                                                         row.model = job.model;
                                                         row.gpus = job.gpus;
                                                         row.submit = {job.submit_s * 1000};
                                                         row.duration = seconds(job.work_s);
                                                       })),
                          .settings = {.costs = Costs::none(), .network = {.kind = kind}},
                          .models = parse_models_yaml(kModels, "test").value(),
                          .seed = 3};
  HappenedSink sink;
  Audit audit;
  std::string hash = run_policy(std::move(inputs), policy, {&sink, &audit}, reload_seed);
  sink.happened.problems = audit.problems();
  return {std::move(sink.happened), std::move(hash)};
}

// One GPU is left on each of three racks, to the first of which j0 sends from another.
const std::vector<TestJob> kOneGpuLeftOnEachRack = {
    {.gpus = 5, .work_s = 100'000, .model = "loud"},   // n0:4 n1:1
    {.gpus = 2, .work_s = 100'000, .model = "quiet"},  // n1:2
    {.gpus = 3, .work_s = 100'000, .model = "quiet"},  // n2:3
    {.gpus = 3, .work_s = 100'000, .model = "quiet"},  // n3:3
    {.gpus = 2, .submit_s = 10, .work_s = 100, .model = "loud"}};

TEST(DallyContention, AJobWaitsAsLongAsItAndThoseOnItsLinksWouldLose) {
  const auto start = [&](NetworkKind kind) {
    const Ran ran = run_shared(racks_of_nodes_with_links(4, 1, 4), kOneGpuLeftOnEachRack,
                               "dally:node_s=1,rack_s=1,preempt=none", kind);
    EXPECT_EQ(ran.happened.problems, std::vector<std::string>{});
    return ran.happened.steps.at(4);
  };
  // Across racks it has half of its speed, and so loses 100 s.
  EXPECT_EQ(start(NetworkKind::kAnalytic), "110s j4 n1:1 n2:1");
  // With half of n1's uplink it has a third, and loses 200 s. j0 needs 420 ms for an iteration then
  // instead of 260, with 5 GPUs, for 300 s: 571 GPU-seconds, or 286 s of two GPUs.
  EXPECT_EQ(start(NetworkKind::kContention), "496s j4 n1:1 n2:1");
}

TEST(DallyContention, WithFixedTimersItTakesWhatItsTimersAllow) {
  const Ran ran =
      run_shared(racks_of_nodes_with_links(4, 1, 4), kOneGpuLeftOnEachRack,
                 "dally:mode=manual,node_s=1,rack_s=20,preempt=none", NetworkKind::kContention);
  EXPECT_EQ(ran.happened.steps.at(4), "30s j4 n1:1 n2:1");
}

TEST(DallyContention, AGangThatSharesItsLinksMovesToWhereItSharesNone) {
  // j1 leaves n3 at 200 s. At the next round j4, which runs on n1 and n2, moves to one host.
  std::vector<TestJob> jobs = kOneGpuLeftOnEachRack;
  jobs[3].work_s = 200;
  jobs[4].work_s = 10'000;
  const Ran ran = run_shared(racks_of_nodes_with_links(4, 1, 4), jobs,
                             "dally:mode=no-wait,preempt=network", NetworkKind::kContention);
  const std::vector<std::string>& steps = ran.happened.steps;
  EXPECT_EQ(steps.at(4), "10s j4 n1:1 n2:1");
  EXPECT_EQ(steps.at(5), "300s j4 stop");
  EXPECT_EQ(steps.at(6), "300s j4 n3:2");
}

TEST(DallyContention, EveryJobEndsAndAPolicyThatIsLoadedGoesOnAsBefore) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Rng rng(seed);
    std::vector<TestJob> jobs;
    for (int i = 0; i < 40; ++i) {
      const auto gpus = static_cast<std::uint32_t>(1 + rng.below(12));
      const auto submit_s = static_cast<std::int64_t>(rng.below(2000));
      const auto work_s = static_cast<std::int64_t>(10 + rng.below(3000));
      jobs.push_back({.gpus = gpus,
                      .submit_s = submit_s,
                      .work_s = work_s,
                      .model = rng.below(3) == 0 ? "quiet" : "loud"});
    }
    const Cluster cluster = racks_of_nodes_with_links(3, 2, 4);
    const Ran plain = run_shared(cluster, jobs, "dally", NetworkKind::kContention);
    EXPECT_EQ(plain.happened.problems, std::vector<std::string>{}) << seed;
    EXPECT_EQ(plain.happened.finishes.size(), jobs.size()) << seed;
    const Ran loaded = run_shared(cluster, jobs, "dally", NetworkKind::kContention, seed);
    EXPECT_EQ(loaded.hash, plain.hash) << seed;
  }
}

}  // namespace
}  // namespace fairlead
