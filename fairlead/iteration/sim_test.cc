#include "fairlead/iteration/sim.h"

#include "fairlead/input/cluster_file.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr std::int64_t kMs = kNsPerMs;

// A job of one model: phases in ms, an all-reduce of as many MB.
struct Plain {
  std::size_t gpus = 1;
  std::int64_t iterations = 1;
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::int64_t mb = 1;
  std::int64_t submit = 0;
  std::int64_t memory = 1;
};

struct Logged {
  IterationOutcome outcome;
  std::vector<IterationRecord> log;

  std::vector<double> finish_ms() const {
    std::vector<double> all;
    for (const std::int64_t ns : outcome.finish_ns) all.push_back(static_cast<double>(ns) / kMs);
    return all;
  }
  std::vector<double> placed_ms() const {
    std::vector<double> all;
    for (const std::int64_t ns : outcome.placed_ns) all.push_back(static_cast<double>(ns) / kMs);
    return all;
  }
  // Returns the phases that GPU 0 computed: "0f 0-2 1b 2-3".
  std::string of_gpu(std::size_t gpu) const {
    std::vector<std::string> parts;
    for (const IterationRecord& one : log) {
      if (one.gpu != GpuId(gpu)) continue;
      parts.push_back(fmt::format("{}{} {}-{}", one.job.row(),
                                  one.phase == Phase::kForward ? 'f' : 'b', one.begin_ns / kMs,
                                  one.end_ns / kMs));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  std::vector<std::uint32_t> gpus_of(std::size_t job) const {
    std::vector<std::uint32_t> rows;
    for (GpuId gpu : outcome.gpus[JobId(job)]) rows.push_back(gpu.row());
    return rows;
  }
};

constexpr std::int64_t kMemory = 10;
constexpr TransferCost kMsPerMb = {.alone_ns = 1000, .penalty_ns = 500};

Logged run(const std::string& cluster_text, const std::vector<Plain>& plain,
           const std::string& policy = "ada-srsf:placement=least-loaded") {
  std::vector<IterationJob> jobs;
  for (const Plain& one : plain) {
    jobs.push_back({.model = {.name = "m",
                              .size_kb = one.mb * 1000,
                              .forward_ns = one.forward * kMs,
                              .backward_ns = one.backward * kMs,
                              .memory_mb = one.memory},
                    .gpus = one.gpus,
                    .iterations = one.iterations,
                    .submit_ns = one.submit * kMs});
  }
  const Cluster cluster = *load_cluster(cluster_text);
  Logged result;
  auto outcome = simulate_iterations({cluster, kMemory, kMsPerMb}, jobs,
                                     *parse_iteration_policy(policy), 1, &result.log);
  EXPECT_TRUE(outcome.has_value());
  result.outcome = std::move(*outcome);
  return result;
}

using Times = std::vector<double>;

TEST(IterationSim, AJobAloneComputesAllOfItsPhases) {
  const Logged one = run("1xV100:1", {{.iterations = 3, .forward = 2, .backward = 3}});
  EXPECT_EQ(one.finish_ms(), (Times{15}));
  EXPECT_EQ(one.of_gpu(0), "0f 0-2, 0b 2-5, 0f 5-7, 0b 7-10, 0f 10-12, 0b 12-15");
  EXPECT_EQ(one.outcome.computing_ns, 15 * kMs);
}

TEST(IterationSim, TheJobWithLeastLeftIsNextOnASharedGpu) {
  const Logged two = run(
      "1xV100:1", {{.iterations = 2, .forward = 2, .backward = 3}, {.iterations = 1, .submit = 1}});
  EXPECT_EQ(two.of_gpu(0), "0f 0-2, 1f 2-3, 1b 3-4, 0b 4-7, 0f 7-9, 0b 9-12");
  EXPECT_EQ(two.finish_ms(), (Times{12, 4}));
}

TEST(IterationSim, WhatIsLeftCountsOnAllGpus) {
  // The second job is shorter, but has twice the GPUs: 2 x 6 ms against 8 ms.
  const Logged two =
      run("1xV100:2", {{.forward = 4, .backward = 4}, {.gpus = 2, .forward = 3, .backward = 3}},
          "ada-srsf:placement=first-fit");
  EXPECT_EQ(two.of_gpu(0), "0f 0-4, 0b 4-8, 1f 8-11, 1b 11-14");
  EXPECT_EQ(two.of_gpu(1), "1f 0-3, 1b 3-6");
}

TEST(IterationSim, EqualJobsGoInTheirOrder) {
  const Logged two = run("1xV100:1", {{}, {}});
  EXPECT_EQ(two.of_gpu(0), "0f 0-1, 0b 1-2, 1f 2-3, 1b 3-4");
}

TEST(IterationSim, AJobWaitsForMemoryWhileASmallerOneStarts) {
  const Logged three = run("1xV100:1", {{.iterations = 2, .memory = 6},
                                        {.iterations = 3, .submit = 1, .memory = 6},
                                        {.iterations = 4, .submit = 1, .memory = 4}});
  EXPECT_EQ(three.placed_ms(), (Times{0, 4, 1}));
  EXPECT_EQ(three.finish_ms(), (Times{4, 10, 18}));
}

TEST(IterationSim, ShortJobsAreFirstWhenMemoryComesFree) {
  const Logged three = run("1xV100:1", {{.iterations = 2, .memory = 6},
                                        {.iterations = 3, .memory = 6},
                                        {.iterations = 1, .submit = 1, .memory = 6}});
  EXPECT_EQ(three.placed_ms(), (Times{0, 6, 4}));
}

TEST(IterationSim, AJobOnOneNodeNeedsNoAllReduce) {
  const Logged one = run("1xV100:2", {{.gpus = 2, .iterations = 2, .mb = 7}});
  EXPECT_EQ(one.finish_ms(), (Times{4}));
  EXPECT_EQ(one.outcome.transfer_ns, 0);
}

TEST(IterationSim, AJobOnTwoNodesEndsEachIterationWithAnAllReduce) {
  const Logged one = run("2xV100:1", {{.gpus = 2, .iterations = 2, .mb = 7}});
  EXPECT_EQ(one.finish_ms(), (Times{2 + 7 + 2 + 7}));
  EXPECT_EQ(one.of_gpu(1), "0f 0-1, 0b 1-2, 0f 9-10, 0b 10-11");
  EXPECT_EQ(one.outcome.transfer_ns, 2 * 14 * kMs);
}

TEST(IterationSim, OthersComputeDuringAnAllReduce) {
  const Logged two = run("2xV100:1", {{.gpus = 2, .mb = 7}, {.iterations = 2, .forward = 2}});
  // Job 0 has 4 ms left on both GPUs together, job 1 has 6 ms on GPU 0.
  EXPECT_EQ(two.of_gpu(0), "0f 0-1, 0b 1-2, 1f 2-4, 1b 4-5, 1f 5-7, 1b 7-8");
  EXPECT_EQ(two.finish_ms(), (Times{9, 8}));
}

// Ready for their all-reduces at 2 and 4 ms.
const std::vector<Plain> kTwoLarge = {{.gpus = 2, .forward = 1, .backward = 1, .mb = 20},
                                      {.gpus = 2, .forward = 1, .backward = 1, .mb = 20}};

TEST(IterationSim, ContentionIsAvoidedAcceptedOrWeighed) {
  // The first all-reduce ends at 2 + 20 ms; the second begins at 4 ms or then.
  EXPECT_EQ(run("2xV100:1", kTwoLarge, "srsf-1").finish_ms(), (Times{22, 42}));
  EXPECT_EQ(run("2xV100:1", kTwoLarge, "ada-srsf").finish_ms(), (Times{22, 42}));
  // At 4 ms 18 MB are left, which take 2.5 ms each; then 2 MB of the second, alone.
  EXPECT_EQ(run("2xV100:1", kTwoLarge, "srsf-2").finish_ms(), (Times{4 + 45, 4 + 45 + 2}));
}

TEST(IterationSim, AdaDualLetsASmallOneThrough) {
  // The threshold is 2 (1 + 0.5) / 1 = 3. At 4 ms 18 MB are left.
  for (const auto& [mb, starts] : {std::pair(6, true), {7, false}}) {
    std::vector<Plain> jobs = kTwoLarge;
    jobs[1].mb = mb;
    const double small_ms = starts ? 4 + 2.5 * mb : 22 + mb;
    const double large_ms = starts ? 4 + 2.5 * mb + (18 - mb) : 22;
    EXPECT_EQ(run("2xV100:1", jobs).finish_ms(), (Times{large_ms, small_ms}));
  }
}

TEST(IterationSim, TheShorterJobIsFirstAmongAllReducesThatWait) {
  // While job 0 transfers from 2 to 52 ms, the others get ready; job 2 has nothing left after this
  // iteration, job 1 has.
  const Logged three = run("2xV100:1",
                           {{.gpus = 2, .mb = 50},
                            {.gpus = 2, .iterations = 2, .mb = 30},
                            {.gpus = 2, .mb = 30, .submit = 20}},
                           "srsf-1");
  std::vector<std::uint32_t> order;
  for (const IterationRecord& one : three.log) {
    if (one.gpu.is_none()) order.push_back(one.job.row());
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 2, 1, 1}));
}

TEST(IterationSim, LwfCountsCommunicationOfJobsThatSpanNodes) {
  // Job 0 computes 20 ms on each GPU, and each of 10 all-reduces counts 7.8 ms there; job 1
  // computes 40 ms, so it stands for less than job 0 does.
  const std::vector<Plain> jobs = {
      {.gpus = 2, .iterations = 10}, {.iterations = 20, .submit = 1}, {.submit = 2}};
  const Logged apart = run("3xV100:1", jobs);
  EXPECT_EQ(apart.gpus_of(0), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(apart.gpus_of(1), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(apart.gpus_of(2), (std::vector<std::uint32_t>{2}));
  // On one node it has no communication.
  const Logged together = run("1xV100:3", jobs);
  EXPECT_EQ(together.gpus_of(2), (std::vector<std::uint32_t>{0}));
}

TEST(IterationSim, WhatCannotRunIsAnError) {
  const Cluster cluster = *load_cluster("2xV100:1");
  const auto error_of = [&](IterationJob job) {
    const std::vector<IterationJob> jobs = {std::move(job)};
    const auto outcome = simulate_iterations({cluster, 10, {}}, jobs, {}, 1);
    return outcome ? "" : outcome.error().message;
  };
  const IterationModel model = {"m", 1, 1, 1, 10};
  EXPECT_EQ(error_of({.model = model, .gpus = 2}), "");
  EXPECT_EQ(error_of({.model = model, .gpus = 3}),
            "the cluster has no room for a job of 3 GPUs of model m");
  EXPECT_EQ(error_of({.model = {"m", 1, 1, 1, 11}}),
            "the cluster has no room for a job of 1 GPUs of model m");
  EXPECT_EQ(error_of({.model = {"m", 1, 0, 1, 1}}), "model m: a time or size is out of range");
  EXPECT_EQ(error_of({.model = {"m", 100'000'000, 1, 1, 1}, .iterations = 40'000'000}),
            "jobs have 100 years of work or more");
}

TEST(IterationPolicy, HasARuleAndAPlacement) {
  const auto policy = parse_iteration_policy("srsf-2:placement=lwf-8");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->transfers, TransferRule::kSrsf2);
  EXPECT_EQ(policy->gpus.kind, GpuRule::Kind::kLwf);
  EXPECT_EQ(policy->gpus.kappa, 8);
  EXPECT_EQ(parse_iteration_policy("srsf-1")->gpus.kappa, 1);
  EXPECT_EQ(parse_iteration_policy("srsf").error().message,
            "no such policy of iterations (there are: srsf-1, srsf-2, ada-srsf, "
            "ada-srsf-released): srsf");
  EXPECT_EQ(parse_iteration_policy("srsf-1:kappa=2").error().message,
            "policy srsf-1 has no such option (it has: placement): kappa=2");
}

TEST(IterationJobs, HaveTheirSizesExactlyAndTheRestAtRandom) {
  IterationOptions options;
  options.models = {{"a", 1, 1, 1, 1}, {"b", 1, 1, 1, 1}};
  options.iterations_min = 2;
  options.iterations_max = 4;
  options.submit_span_ms = 3;
  const auto jobs = draw_iteration_jobs(options, 1);
  ASSERT_TRUE(jobs.has_value());
  ASSERT_EQ(jobs->size(), 160u);
  const auto count = [&](auto what) { return std::ranges::count_if(*jobs, what); };
  EXPECT_EQ(count([](const auto& job) { return job.gpus == 1; }), 80);
  EXPECT_EQ(count([](const auto& job) { return job.gpus == 8; }), 30);
  EXPECT_EQ(count([](const auto& job) { return job.gpus == 32; }), 2);
  EXPECT_EQ(count([](const auto& job) { return job.iterations < 2 || job.iterations > 4; }), 0);
  EXPECT_GT(count([](const auto& job) { return job.iterations == 4; }), 0);
  EXPECT_GT(count([](const auto& job) { return job.submit_ns == 2 * kMs; }), 0);
  EXPECT_EQ(count([](const auto& job) { return job.submit_ns > 2 * kMs; }), 0);
  EXPECT_GT(count([](const auto& job) { return job.model.name == "b"; }), 0);
  const auto others = draw_iteration_jobs(options, 2);
  EXPECT_FALSE(
      std::ranges::equal(*jobs, *others, {}, &IterationJob::submit_ns, &IterationJob::submit_ns));
}

TEST(IterationJobs, MustDivideAsTheWeightsSay) {
  IterationOptions options;
  EXPECT_EQ(draw_iteration_jobs(options, 1).error().message, "jobs need at least one model");
  options.models = {{"a", 1, 1, 1, 1}};
  options.jobs = 100;
  EXPECT_EQ(draw_iteration_jobs(options, 1).error().message,
            "the number of jobs must be a multiple of the weights' sum 80: 100");
}

}  // namespace
}  // namespace fairlead
