#include "fairlead/trace/gavel_workload.h"

#include "fairlead/input/models_file.h"
#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

#include <map>

namespace fairlead {
namespace {

using testing::jobs_of;

Workload drawn(const JobStream& stream) {
  auto workload = generate_gavel(stream);
  EXPECT_TRUE(workload.has_value()) << workload.error().message;
  return *std::move(workload);
}

std::string error_of(const JobStream& stream) {
  const auto workload = generate_gavel(stream);
  return workload ? "" : workload.error().message;
}

double part(std::int64_t count, const Workload& workload) {
  return static_cast<double>(count) / static_cast<double>(workload.jobs.size());
}

TEST(GavelWorkload, IsAFunctionOfItsOptions) {
  const JobStream stream = {.seed = 7, .jobs = 50, .jobs_per_hour = 2};
  EXPECT_EQ(jobs_of(drawn(stream)), jobs_of(drawn(stream)));
  EXPECT_NE(jobs_of(drawn(stream)), jobs_of(drawn({.seed = 8, .jobs = 50, .jobs_per_hour = 2})));
}

TEST(GavelWorkload, IsTheSameOnEveryCompiler) {
  EXPECT_EQ(jobs_of(drawn({.seed = 1, .jobs = 3, .jobs_per_hour = 2})),
            (testing::Lines{"job-1 default ResNet-50 (batch size 16) 2 0 401723279 V100",
                            "job-2 default ResNet-18 (batch size 16) 4 830754 15715585 V100",
                            "job-3 default ResNet-50 (batch size 64) 1 1406992 26567564 V100"}));
}

TEST(GavelWorkload, HasEveryModelEquallyOften) {
  const Workload workload = drawn({.seed = 1, .jobs = 26'000, .gangs = {{1, 1}}});
  std::map<std::string, std::int64_t> count;
  for (const ModelId model : workload.jobs.model) ++count[workload.models[model]];
  EXPECT_EQ(count.size(), 26u);
  for (const auto& [name, jobs] : count) EXPECT_NEAR(static_cast<double>(jobs), 1000, 130) << name;
}

TEST(GavelWorkload, DistributesOnlyWhatCanBe) {
  const Workload workload = drawn({.seed = 2, .jobs = 5000, .gangs = {{1, 1}, {8, 1}}});
  std::int64_t single_only = 0;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const bool distributes = gavel_distributes(workload.models[workload.jobs.model[job]]);
    single_only += !distributes;
    EXPECT_TRUE(distributes || workload.jobs.gpus[job] == 1);
  }
  EXPECT_NEAR(part(single_only, workload), 0.5 * 7 / 26, 0.02);
  EXPECT_FALSE(gavel_distributes("Recommendation (batch size 512)"));
  EXPECT_FALSE(gavel_distributes("A3C"));
  EXPECT_FALSE(gavel_distributes("CycleGAN"));
  EXPECT_TRUE(gavel_distributes("ResNet-50 (batch size 128)"));
}

TEST(GavelWorkload, HasDurationsOverThreeDecades) {
  const Workload workload = drawn({.seed = 3, .jobs = 20'000});
  std::int64_t long_ones = 0;
  std::int64_t short_ones = 0;
  double hours_sum = 0;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const Duration duration = workload.durations[job];
    EXPECT_GE(duration, seconds(1897));  // 60 x 10^1.5
    EXPECT_LE(duration, seconds(600'000));
    EXPECT_EQ(workload.reference_types[job], "V100");
    long_ones += duration >= seconds(60'000);
    short_ones += duration < seconds(10'669);  // 60 x 10^2.25, the middle of the short ones
    hours_sum += to_seconds(duration) / 3600;
  }
  EXPECT_NEAR(part(long_ones, workload), 0.2, 0.01);
  EXPECT_NEAR(part(short_ones, workload), 0.4, 0.015);
  // (0.8 x 968.4 / 1.5 + 0.2 x 9000) / ln 10 minutes.
  EXPECT_NEAR(hours_sum / 20'000, 16.77, 0.5);
}

TEST(GavelWorkload, ArrivesAtItsRate) {
  const Workload workload = drawn({.seed = 4, .jobs = 10'000, .jobs_per_hour = 5});
  const auto& arrivals = workload.jobs.arrival;
  EXPECT_EQ(arrivals[JobId(0)], Time{});
  const double last_h = to_seconds(arrivals[JobId(9'999)] - Time{}) / 3600;
  EXPECT_NEAR(last_h, 2000, 60);
  std::int64_t close = 0;  // gaps below their mean: 1 - 1/e of an exponential's
  for (const JobId job : ids<JobId>(9'999)) {
    EXPECT_LE(arrivals[job], arrivals[JobId(job.row() + 1)]);
    close += arrivals[JobId(job.row() + 1)] - arrivals[job] < seconds(720);
  }
  EXPECT_NEAR(part(close, workload), 0.632, 0.02);
}

TEST(GavelWorkload, IsTheSameJobsAtEveryRate) {
  const Workload once = drawn({.seed = 5, .jobs = 300});
  const Workload later = drawn({.seed = 5, .jobs = 300, .jobs_per_hour = 1});
  for (const JobId job : ids<JobId>(300)) {
    EXPECT_EQ(once.jobs.arrival[job], Time{});
    EXPECT_EQ(once.durations[job], later.durations[job]);
    EXPECT_EQ(once.jobs.gpus[job], later.jobs.gpus[job]);
    EXPECT_EQ(once.models[once.jobs.model[job]], later.models[later.jobs.model[job]]);
  }
}

TEST(GavelWorkload, RefusesWhatMakesNoTrace) {
  EXPECT_EQ(error_of({.jobs = 0}), "jobs must be from 1 to 10000000: 0");
  EXPECT_EQ(error_of({.jobs_per_hour = -1}),
            "jobs per hour must be 0 or from 0.001 to 1000000000: -1");
  EXPECT_EQ(error_of({.gangs = {{1, 0}}}), "weights of gangs must not be negative or all zero");
  EXPECT_EQ(error_of({.gangs = {{0, 1}}}), "gang size must be from 1 to 1000000: 0");
  EXPECT_NE(error_of({.jobs = 2'000'000, .jobs_per_hour = 0.001}), "") << "more than 100 years";
}

}  // namespace
}  // namespace fairlead
