#include "fairlead/policy/kit/backfill.h"

#include "fairlead/base/rng.h"
#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Gangs of at most one node, with durations known to the millisecond.
World one_node(std::uint64_t seed) {
  Rng rng(seed);
  World world{.cluster = "1xV100:8"};
  for (std::uint64_t i = 0; i < 30; ++i) {
    world.jobs.push_back({.submit = {static_cast<std::int64_t>(rng.below(60)) * 1000},
                          .gpus = 1 + static_cast<std::uint32_t>(rng.below(8)),
                          .work = seconds(1 + static_cast<std::int64_t>(rng.below(40)))});
  }
  return world;
}

// A job is never promised a later time than its start in strict order.
TEST(Backfill, ConservativeStartsNoJobLaterThanTheStrictOrderDoes) {
  std::int64_t earlier = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const World world = one_node(seed);
    const Outcome strict = run(world, "fifo");
    const Outcome backfilled = run(world, "fifo:backfill=conservative");
    EXPECT_EQ(backfilled.problems, std::vector<std::string>{});
    for (std::size_t job = 0; job < world.jobs.size(); ++job) {
      EXPECT_LE(backfilled.jobs[job].start, strict.jobs[job].start) << seed << " " << job;
      earlier += backfilled.jobs[job].start < strict.jobs[job].start;
    }
  }
  EXPECT_GT(earlier, 1'000);
}

// The first job that waits, too: one that came when GPUs were free for none before it.
TEST(Backfill, EasyNeverDelaysTheFirstThatWaits) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    World world = one_node(seed);
    // All GPUs are taken; then a gang that needs all of them waits first.
    world.jobs.insert(world.jobs.begin(), {{.gpus = 5, .work = seconds(30)},
                                           {.submit = {1}, .gpus = 8, .work = seconds(5)}});
    for (std::size_t job = 2; job < world.jobs.size(); ++job) world.jobs[job].submit.ms += 2;
    EXPECT_EQ(run(world, "fifo:backfill=easy").jobs[1].start, Time{30'000}) << seed;
  }
}

// On two nodes a promise is of certain GPUs: c could not have both of n1's if d took one of them.
TEST(Backfill, PromisesGpusNodeByNode) {
  World world{.cluster = "2xV100:2"};
  world.jobs = {{.gpus = 2, .work = seconds(10)},
                {.submit = {1}, .gpus = 1, .work = seconds(20)},
                {.submit = {2}, .gpus = 2, .work = seconds(10)},
                {.submit = {3}, .gpus = 1, .work = seconds(60)}};
  const Outcome outcome = run(world, "fifo:backfill=easy,placement=consolidate");
  EXPECT_EQ(outcome.jobs[3].start, Time{3});  // beside the second, not on the first's node
  EXPECT_EQ(outcome.jobs[2].start, Time{10'000});
}

TEST(Backfill, LooksAtAsManyJobsAsAsked) {
  World world{.cluster = "1xV100:4"};
  world.jobs = {{.gpus = 3, .work = seconds(10)},
                {.submit = {1}, .gpus = 4},
                {.submit = {2}, .gpus = 1, .work = seconds(20)},
                {.submit = {3}, .gpus = 1, .work = seconds(1)}};
  EXPECT_EQ(run(world, "fifo:backfill=easy,backfill_jobs=2").jobs[3].start, Time{11'000});
  EXPECT_EQ(run(world, "fifo:backfill=easy,backfill_jobs=3").jobs[3].start, Time{3});
}

TEST(Backfill, ExcludesSkipping) {
  const auto choice = parse_policy("fifo:backfill=easy,skip=true", 0);
  ASSERT_TRUE(choice.has_value());
  const auto made = choice->make();
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message,
            "policy fifo: skip=true leaves nothing to backfill=easy: give one of them");
}

}  // namespace
}  // namespace fairlead
