#include "fairlead/trace/size_classes.h"

#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using testing::jobs_of;

ClassOptions two_classes() {
  return {.stream = {.seed = 1, .jobs = 10'000, .gangs = {{1, 1}, {4, 1}}},
          .classes = {{.name = "small",
                       .weight = 3,
                       .gpu_hours_min = 0.1,
                       .gpu_hours_max = 1,
                       .models = {"a", "b"}},
                      {.name = "large", .gpu_hours_min = 10, .gpu_hours_max = 50}}};
}

std::string error_of(const SizeClass& one) {
  const auto workload = generate_classes({.classes = {one}});
  return workload ? "" : workload.error().message;
}

double gpu_hours(const Workload& workload, JobId job) {
  return workload.jobs.gpus[job] * to_seconds(workload.durations[job]) / 3600;
}

TEST(SizeClasses, AreAFunctionOfTheirOptions) {
  ClassOptions options = two_classes();
  const auto first = generate_classes(options);
  EXPECT_EQ(jobs_of(*first), jobs_of(*generate_classes(options)));
  options.stream.seed = 2;
  EXPECT_NE(jobs_of(*first), jobs_of(*generate_classes(options)));
}

TEST(SizeClasses, BelongToUsersByTurns) {
  ClassOptions options = two_classes();
  const auto plain = generate_classes(options);
  options.users = 3;
  const auto workload = generate_classes(options);
  const Jobs& jobs = workload->jobs;
  for (JobId job : {JobId(0), JobId(4), JobId(8)}) {
    EXPECT_EQ(workload->users.names[jobs.user[job]], fmt::format("user-{}", job.row() % 3 + 1));
    EXPECT_EQ(workload->durations[job], plain->durations[job]);
  }
}

TEST(SizeClasses, AreDrawnByWeightWithTheirModelsAndSizes) {
  const auto workload = generate_classes(two_classes());
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  std::int64_t small = 0;
  std::int64_t first_model = 0;
  double small_hours = 0;
  for (const JobId job : ids<JobId>(workload->jobs.size())) {
    const bool is_small = workload->names[job].starts_with("small-");
    const double size = gpu_hours(*workload, job);
    EXPECT_GE(size, is_small ? 0.0999 : 9.999);
    EXPECT_LE(size, is_small ? 1.001 : 50.001);
    EXPECT_EQ(workload->jobs.model[job].is_none(), !is_small);
    EXPECT_EQ(workload->jobs.arrival[job], Time{});
    if (!is_small) continue;
    ++small;
    small_hours += size;
    first_model += workload->models[workload->jobs.model[job]] == "a";
  }
  EXPECT_NEAR(static_cast<double>(small), 7500, 150);
  EXPECT_NEAR(static_cast<double>(first_model) / static_cast<double>(small), 0.5, 0.02);
  EXPECT_NEAR(small_hours / static_cast<double>(small), 0.55, 0.01);
}

// A job's size does not depend on its gang: a gang of four finishes in a quarter of the time.
TEST(SizeClasses, CountGpuHoursWhateverTheGang) {
  const auto workload = generate_classes(two_classes());
  double hours[2] = {};
  std::int64_t jobs[2] = {};
  for (const JobId job : ids<JobId>(workload->jobs.size())) {
    const std::size_t gang = workload->jobs.gpus[job] == 4;
    hours[gang] += gpu_hours(*workload, job);
    ++jobs[gang];
  }
  const double single = hours[0] / static_cast<double>(jobs[0]);
  const double four = hours[1] / static_cast<double>(jobs[1]);
  EXPECT_NEAR(single / four, 1, 0.08);
}

TEST(SizeClasses, RefuseWhatMakesNoTrace) {
  EXPECT_EQ(error_of({.name = ""}), "a class of jobs needs a name");
  EXPECT_EQ(error_of({.name = "a", .weight = 0}),
            "weights of classes must not be negative or all zero");
  EXPECT_EQ(error_of({.name = "a", .gpu_hours_min = 0}),
            "GPU-hours of a class must be above 0 and at most 100 years: 0 to 1");
  EXPECT_EQ(error_of({.name = "a", .gpu_hours_min = 3, .gpu_hours_max = 2}),
            "GPU-hours of a class must be above 0 and at most 100 years: 3 to 2");
  EXPECT_FALSE(generate_classes({}).has_value()) << "no class";
}

}  // namespace
}  // namespace fairlead
