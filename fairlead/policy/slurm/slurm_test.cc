#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// ann and then ben use the GPUs for `seconds_each`; then one job of each waits for them.
World ann_then_ben(std::int64_t seconds_each, std::int64_t gap_s) {
  World world{.cluster = "1xV100:1"};
  const Time later{(seconds_each + gap_s) * 1000};
  const Time last{later.ms + seconds_each * 1000 - 1};
  world.jobs = {{.work = seconds(seconds_each), .user = "ann"},
                {.submit = later, .work = seconds(seconds_each), .user = "ben"},
                {.submit = last, .work = seconds(1), .user = "ben"},
                {.submit = last, .work = seconds(1), .user = "ann"}};
  return world;
}

// They have used the same; ann's use is older, so that it counts less, but not if nothing decays.
TEST(Slurm, UsageDecays) {
  const World world = ann_then_ben(3600, 3600);
  const auto first = [&](std::string_view half_life) {
    const Outcome outcome =
        run(world, fmt::format("slurm:priority_weight_fairshare=100,scheduler_type=builtin,"
                               "priority_decay_half_life_h={}",
                               half_life));
    return outcome.jobs[2].start < outcome.jobs[3].start ? "ben" : "ann";
  };
  EXPECT_EQ(first("1"), std::string("ann"));
  EXPECT_EQ(first("0"), std::string("ben")) << "a tie: the order of submission";
}

TEST(Slurm, AgeCountsUpToTheMostThatItMay) {
  World world{.cluster = "1xV100:2"};
  // The large one is half as urgent by size as an hour is by age.
  world.jobs = {{.gpus = 2, .work = seconds(7200)},
                {.gpus = 1, .work = seconds(1)},
                {.submit = {1'800'000}, .gpus = 2, .work = seconds(1)}};
  const auto large_first = [&](std::string_view options) {
    const Outcome outcome = run(world, fmt::format("slurm:scheduler_type=builtin,{}", options));
    return outcome.jobs[2].start < outcome.jobs[1].start;
  };
  EXPECT_FALSE(
      large_first("priority_weight_age=1000,priority_weight_job_size=100,"
                  "priority_max_age_h=2"));
  EXPECT_TRUE(
      large_first("priority_weight_age=1000,priority_weight_job_size=100,"
                  "priority_max_age_h=1"));
  EXPECT_FALSE(large_first("priority_weight_job_size=100,priority_favor_small=true"));
}

// Without a limit in the trace, a job counts with the default.
TEST(Slurm, JobsWithoutALimitTakeTheDefaultTime) {
  World world{.cluster = "1xV100:4"};
  world.jobs = {{.gpus = 3, .work = seconds(100), .time_limit = seconds(100)},
                {.submit = {1}, .gpus = 4, .work = seconds(10), .time_limit = seconds(10)},
                {.submit = {2}, .gpus = 1, .work = seconds(5)}};
  const auto start = [&](std::string_view policy) { return run(world, policy).jobs[2].start; };
  EXPECT_EQ(start("slurm:bf_resolution_s=1,default_time_s=70"), Time{30'000});
  EXPECT_EQ(start("slurm:bf_resolution_s=1,default_time_s=71"), Time{110'000});
}

// Neither is promised anything within a minute: then nothing keeps the small job back.
TEST(Slurm, PlansNoFurtherAheadThanTheWindow) {
  World world{.cluster = "1xV100:4"};
  world.jobs = {{.gpus = 3, .work = seconds(100), .time_limit = seconds(100)},
                {.submit = {1}, .gpus = 4, .work = seconds(10), .time_limit = seconds(10)},
                {.submit = {2}, .gpus = 1, .work = seconds(500), .time_limit = seconds(500)}};
  const auto start = [&](std::string_view policy) { return run(world, policy).jobs[2].start; };
  EXPECT_EQ(start("slurm:bf_resolution_s=1,bf_window_s=60"), Time{30'000});
  EXPECT_EQ(start("slurm:bf_resolution_s=1"), Time{110'000});
}

}  // namespace
}  // namespace fairlead
