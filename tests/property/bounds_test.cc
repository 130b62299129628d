// The lower bounds of the summary apply to every policy.
#include "fairlead/metrics/bounds.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/metrics/metrics.h"
#include "testing/property.h"
#include "testing/steps.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <iterator>

namespace fairlead {
namespace {

TEST(Bounds, NoPolicyIsBelowThem) {
  std::int64_t compared = 0;
  const auto property = [&](const World& world, const std::string& policy) -> std::string {
    Metrics metrics;
    run(world, policy_named(policy), {}, &metrics);
    RunFacts facts;
    facts.bounds = bounds_of(world, makes_copies(policy));
    const Summary summary = metrics.summary(facts);
    if (!summary.jct_avg_s) return "";
    ++compared;
    if (*summary.jct_avg_s < *summary.bounds.jct_avg_lower_s - 1e-9) {
      return fmt::format("the average JCT is {} s, the bound {} s", *summary.jct_avg_s,
                         *summary.bounds.jct_avg_lower_s);
    }
    const auto least = summary.bounds.comm_time_share_lower;
    if (least && *summary.comm_time_share < *least - 1e-9) {
      return fmt::format("{} is lost to communication, the bound is {}", *summary.comm_time_share,
                         *least);
    }
    if (*summary.makespan_s < *summary.bounds.makespan_lower_s - 1e-9) {
      return fmt::format("the makespan is {} s, the bound {} s", *summary.makespan_s,
                         *summary.bounds.makespan_lower_s);
    }
    return "";
  };
  EXPECT_EQ(broken("Bounds", policy_variants(), {}, property), "");
  // In a world now and then no job finishes.
  EXPECT_GE(10 * compared, 9 * std::ssize(policy_variants()));
}

// For a job that runs alone, as close together as its gang can be, the bound is exact.
TEST(Bounds, KnowHowCloseTogetherAGangCanBe) {
  const Cluster cluster = load_cluster("4xV100:4").value();
  const SpeedTable table = load_models("wang").value();
  Workload workload =
      numbered_jobs(std::vector<std::uint32_t>{2, 4, 8}, [](JobRow& row, std::uint32_t gpus) {
        row.model = "VGG-16";
        row.gpus = gpus;
        row.duration = seconds(1000);
      });
  const NetworkOptions analytic = {.kind = NetworkKind::kAnalytic};
  const Speed speed = Speed::make(cluster, table, workload, "", analytic).value();
  for (const JobBound& bound : job_bounds(cluster, workload, speed, false)) {
    EXPECT_EQ(bound.time, seconds(1000));
  }
}

// Two gangs as large as a node, on one node each or both on both.
TEST(Bounds, TheLeastCommunicationIsThatOfEveryGangAtItsBestPlace) {
  World world{.cluster = "2xV100:4"};
  for (int job = 0; job < 2; ++job) {
    world.jobs.push_back({.gpus = 4, .work = seconds(1000), .model = "VGG-16"});
  }
  world.settings.models = "wang";
  world.settings.network = {.kind = NetworkKind::kAnalytic, .congestion = {1, 1, 4, 4}};
  const auto share_of = [&](std::string_view policy) {
    Metrics metrics;
    run(world, policy_named(policy), {}, &metrics);
    RunFacts facts;
    facts.bounds = bounds_of(world, false);
    return metrics.summary(facts);
  };
  const Summary near = share_of("fifo:placement=best-fit");
  EXPECT_GT(*near.comm_time_share, 0.01);
  EXPECT_NEAR(*near.comm_time_share, *near.bounds.comm_time_share_lower, 1e-5);
  const Summary far = share_of("fifo:placement=spread");
  EXPECT_GT(*far.comm_time_share, 1.5 * *near.comm_time_share);
  EXPECT_EQ(far.bounds.comm_time_share_lower, near.bounds.comm_time_share_lower);
}

// GRU is 4.81 times as fast on the V100, VAE 1.25 times. The soonest end: GRU has the V100 for its
// 100 s and VAE the K80, except for v seconds of its work on the V100: 100 + v = 1.25 (100 - v).
TEST(Bounds, TheMakespansIsThatOfAFluid) {
  World world{
      .cluster = "1xV100:1,1xK80:1",
      .jobs = {{.work = seconds(100), .model = "GRU"}, {.work = seconds(100), .model = "VAE"}}};
  Metrics metrics;
  run(world, policy_named("fifo"), {}, &metrics);
  RunFacts facts;
  facts.bounds = bounds_of(world, false);
  EXPECT_NEAR(*metrics.summary(facts).bounds.makespan_lower_s, 100 + 25 / 2.25, 1e-3);
}

// Both copies of each add up to 1 + 1 / 1.25 of a V100.
TEST(Bounds, TheMakespansIsThatOfAFluidAlsoWhereAllJobsAreAlike) {
  const World world{
      .cluster = "1xV100:1,1xK80:1",
      .jobs = {{.work = seconds(90), .model = "VAE"}, {.work = seconds(90), .model = "VAE"}}};
  Metrics metrics;
  run(world, policy_named("hadare"), {}, &metrics);
  RunFacts facts;
  facts.bounds = bounds_of(world, true);
  EXPECT_NEAR(*metrics.summary(facts).bounds.makespan_lower_s, 180 / 1.8, 1e-2);
}

// GRU on a V100, its reference, has speed 1, on a K80 1 / 4.81.
TEST(Bounds, MixSpeedsAreMeansOverTheTypesOnWhichAJobRuns) {
  const World world{.cluster = "1xV100:4,3xK80:4",
                    .jobs = {{.work = seconds(100), .model = "GRU"}, {.work = seconds(100)}}};
  const IdVector<JobId, JobBound> bounds = bounds_of(world, false);
  EXPECT_NEAR(bounds[JobId(0)].mix_speed, (1 + 3 / 4.81) / 4, 1e-5);
  EXPECT_EQ(bounds[JobId(1)].mix_speed, 1) << "no model: the same everywhere";
}

}  // namespace
}  // namespace fairlead
