#include "fairlead/trace/load.h"

#include "fairlead/model/cluster_build.h"
#include "fairlead/trace/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

// Jobs of 2 GPUs and 100 s, submitted at these seconds.
Workload jobs_at(std::initializer_list<std::int64_t> submits_s) {
  WorkloadBuilder builder("jobs", Reading::kStrict);
  std::int64_t row = 0;
  for (const std::int64_t submit_s : submits_s) {
    const std::string id = fmt::format("{}", ++row);
    const JobRow job{
        .id = id, .gpus = 2, .submit = Time{} + seconds(submit_s), .duration = seconds(100)};
    EXPECT_TRUE(builder.add(job, Where("jobs", row)));
  }
  return builder.finish();
}

std::vector<std::int64_t> arrivals_ms(const Workload& workload) {
  std::vector<std::int64_t> all;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    all.push_back(workload.jobs.arrival[job].ms);
  }
  return all;
}

TEST(Load, StretchesTheTimesBetweenSubmissions) {
  // 800 GPU-seconds at load 0.5 are 1600 GPU-seconds of the cluster: 400 s of its 4 GPUs.
  Workload workload = jobs_at({10, 60, 35, 110});
  ASSERT_TRUE(scale_to_load(workload, 0.5, 4));
  EXPECT_EQ(arrivals_ms(workload), (std::vector<std::int64_t>{10'000, 210'000, 110'000, 410'000}));
}

TEST(Load, OfATraceThatHasItAlreadyChangesNothing) {
  Workload workload = jobs_at({0, 7, 7, 100});
  ASSERT_TRUE(scale_to_load(workload, 2, 4));
  EXPECT_EQ(arrivals_ms(workload), (std::vector<std::int64_t>{0, 7'000, 7'000, 100'000}));
}

TEST(Load, KeepsTheOrderOfSubmissionsAtAnyLoad) {
  Workload workload = *generate({.jobs = 200, .capacity_gpus = 16});
  const std::vector<std::int64_t> before = arrivals_ms(workload);
  ASSERT_TRUE(std::ranges::is_sorted(before));
  ASSERT_TRUE(scale_to_load(workload, 1000, 16));
  const std::vector<std::int64_t> after = arrivals_ms(workload);
  EXPECT_TRUE(std::ranges::is_sorted(after));
  EXPECT_LT(after.back() - after.front(), before.back() - before.front());
}

TEST(Load, CannotBeHadFromJobsThatAllComeAtOnce) {
  Workload workload = jobs_at({5, 5});
  const Status status = scale_to_load(workload, 0.5, 4);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("at the same time"), std::string::npos);
}

TEST(Load, IsRefusedWhereItWouldTakeCenturies) {
  Workload workload = jobs_at({0, 1});
  EXPECT_FALSE(scale_to_load(workload, 1e-9, 1));
  EXPECT_EQ(arrivals_ms(workload), (std::vector<std::int64_t>{0, 1000}));
}

Cluster two_types() {
  return *build_cluster(
      "c", {},
      {{.name = "a", .gpu_type = "A100", .gpus = 3}, {.name = "v", .gpu_type = "V100", .gpus = 1}});
}

// One job of one GPU for 100 s every 50 s, which keep two GPUs busy.
Workload steady(std::string_view runs_on, std::string_view gpu_type) {
  WorkloadBuilder builder("steady", Reading::kStrict);
  for (std::int64_t row = 0; row <= 40; ++row) {
    const std::string id = fmt::format("{}", row);
    EXPECT_TRUE(builder.add({.id = id,
                             .submit = Time{} + seconds(50 * row),
                             .duration = seconds(100),
                             .gpu_type = gpu_type,
                             .runs_on = runs_on},
                            Where("steady", row)));
  }
  return builder.finish();
}

TEST(Load, AboveTheClusterIsNamed) {
  constexpr const char* kMore =
      " times the GPU time there is from the first to the last submission";
  EXPECT_EQ(overload_text(steady("", ""), two_types()), "");
  EXPECT_EQ(overload_text(steady("A100", ""), two_types()), "");
  EXPECT_EQ(overload_text(steady("V100", ""), two_types()),
            fmt::format("the jobs ask for 0.51{}; those for V100 alone for 2.05 times", kMore));
  const Cluster one = *build_cluster("c", {}, {{.name = "v", .gpu_type = "V100", .gpus = 1}});
  EXPECT_EQ(overload_text(steady("", ""), one), fmt::format("the jobs ask for 2.05{}", kMore));
  EXPECT_EQ(overload_text(jobs_at({0, 1, 2, 3}), one), "") << "too short";
}

TEST(UnplacedJobs, AreThoseWithoutTypesIfThereAreSeveral) {
  const UnplacedJobs unplaced = unplaced_jobs(steady("", "a100"), two_types());
  EXPECT_EQ(unplaced.jobs, 41);
  EXPECT_NEAR(unplaced.gpu_time, 1, 1e-9);
  EXPECT_NEAR(unplaced.recorded, 1, 1e-9);
  EXPECT_EQ(unplaced_jobs(steady("", "H100"), two_types()).recorded, 0);
  EXPECT_EQ(unplaced_jobs(steady("A100", ""), two_types()).jobs, 0);
  const Cluster one = *build_cluster("c", {}, {{.name = "v", .gpu_type = "V100", .gpus = 1}});
  EXPECT_EQ(unplaced_jobs(steady("", "V100"), one).jobs, 0);
}

}  // namespace
}  // namespace fairlead
