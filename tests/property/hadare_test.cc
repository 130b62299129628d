// HadarE's theorem of maximum utilisation: with as many copies as nodes, no node idles while there
// is a job.
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

// Single-GPU nodes of up to three types, and single-GPU jobs that are all there from the start.
struct Mix {
  World world;
  std::int64_t nodes = 0;
};

Mix drawn_mix() {
  Mix mix;
  mix.world.cluster.clear();
  for (const char* type : {"V100", "P100", "K80"}) {
    const auto nodes = *rc::gen::inRange(mix.world.cluster.empty() ? 1 : 0, 4);
    if (nodes == 0) continue;
    if (mix.nodes > 0) mix.world.cluster += ',';
    mix.world.cluster += fmt::format("{}x{}:1", nodes, type);
    mix.nodes += nodes;
  }
  const auto jobs = *rc::gen::inRange(1, 13);
  for (int i = 0; i < jobs; ++i) {
    WorldJob job;
    job.work = seconds(*rc::gen::inRange(1, 2000));
    job.model = *rc::gen::element<std::string>("VAE", "GRU", "ResNet50", "");
    mix.world.jobs.push_back(job);
  }
  return mix;
}

Time end_of(const Outcome& outcome) {
  Time end;
  for (const JobOutcome& job : outcome.jobs) end = std::max(end, job.finish);
  return end;
}

GpuTime allocated(const Outcome& outcome) {
  GpuTime sum;
  for (const JobOutcome& job : outcome.jobs) sum += job.allocated;
  return sum;
}

RC_GTEST_PROP(HadarE, WithAsManyCopiesAsNodesNoNodeIdlesWhileAJobIsHere, ()) {
  const Mix mix = drawn_mix();
  const std::string policy = *rc::gen::element<std::string>(
      "hadare:switch_s=0", "hadare:switch_s=0,round_s=30", "hadare:switch_s=0,utility=jct",
      "hadare:switch_s=0,round_s=7,utility=jct");
  const Outcome outcome = run(mix.world, policy);
  RC_ASSERT(outcome.problems == std::vector<std::string>{});
  RC_ASSERT(allocated(outcome) == occupancy(end_of(outcome) - Time{}, mix.nodes));
}

TEST(HadarE, WithFewerCopiesNodesIdleAndTheGainIsTheSumOfSpeedsOverTheFastest) {
  World world{.cluster = "4xV100:1", .jobs = {{.work = seconds(120)}}};
  EXPECT_EQ(end_of(run(world, "hadare:switch_s=0")).ms, 30'000);
  EXPECT_EQ(end_of(run(world, "hadare:switch_s=0,copies=2")).ms, 60'000);
  EXPECT_EQ(end_of(run(world, "hadare:switch_s=0,copies=1")).ms, 120'000);
}

// 690 s of work on two nodes take 345 s and a start; the round's end at 360 s changes nothing,
// though a new copy would not pay any more.
TEST(HadarE, CopiesThatRunGoOnToTheEnd) {
  World world{.cluster = "2xV100:1", .jobs = {{.work = seconds(690)}}};
  world.settings.costs.start = seconds(20);
  EXPECT_EQ(end_of(run(world, "hadare")).ms, 365'000);
}

}  // namespace
}  // namespace fairlead
