// The fixtures: 6 nodes of 8 A100, one of them drained, 4 of 4 V100, and two without GPUs; 9 jobs run, and 12 of 14
// waiting jobs could start.

#include "fairlead/forecast/slurm_now.h"

#include "fairlead/forecast/what_if.h"
#include "fairlead/model/workload.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace fairlead {
namespace {

const SlurmFiles kFiles = {.nodes = "tests/data/slurm/scontrol.txt",
                           .queue = "tests/data/slurm/squeue.txt",
                           .ended = "tests/data/slurm/sacct.txt"};

TEST(SlurmNow, HasTheNodesTheLogAndTheQueue) {
  const auto now = slurm_now(kFiles);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->nodes.size(), 9U);
  EXPECT_EQ(now->queue.cluster.gpus, 5 * 8U + 4 * 4U);
  EXPECT_EQ(now->queue.jobs.size(), 9U + 12U);
  EXPECT_EQ(std::ranges::count(now->queue.jobs, "running", &JobAnswer::state), 9);
  const Workload& queue = now->queue.trace.workload();
  EXPECT_EQ(queue.jobs.gpus[JobId(9)], 16U);
  EXPECT_EQ(queue.jobs.task_gpus[JobId(9)], 8U) << "on two nodes";
  EXPECT_EQ(queue.runs_on.at(JobId(9)), "a100");
  EXPECT_EQ(queue.runs_on.at(JobId(0)), "a100+v100") << "one that runs may move in its partition";
  ASSERT_TRUE(now->trace.has_value());
  EXPECT_GT(now->trace->jobs(), 500U);
  for (const char* line : {"left out: 1 node (drain)", "left out: 1 job of the queue (held)"})
    EXPECT_NE(std::ranges::find(now->said, line), now->said.end()) << line;
}

TEST(SlurmNow, JobsTakeAsLongAsThoseOfTheirUserButNoLongerThanTheirLimit) {
  const auto now = slurm_now(kFiles);
  ASSERT_TRUE(now) << now.error().message;
  ASSERT_EQ(now->queue.left.size(), now->queue.jobs.size());
  EXPECT_TRUE(std::ranges::any_of(now->queue.left, [](const TimeLeft& left) {
    return left.source == "as jobs of ann take" && left.s > 0;
  }));
  for (std::size_t i = 0; i < now->queue.jobs.size(); ++i) {
    const JobAnswer& job = now->queue.jobs[i];
    const double ran_s = job.gpu_s / static_cast<double>(job.gpus);
    EXPECT_LE(now->queue.left[i].s, job.limit_s.value() - ran_s) << job.name;
  }
}

TEST(SlurmNow, TheNodesAreEnoughAndNeeded) {
  const auto nodes_only = slurm_now({.nodes = kFiles.nodes});
  ASSERT_TRUE(nodes_only) << nodes_only.error().message;
  EXPECT_TRUE(nodes_only->queue.jobs.empty());
  EXPECT_FALSE(nodes_only->trace.has_value());
  const auto none = slurm_now({.queue = kFiles.queue});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "--scontrol-nodes is missing: output of `scontrol show node`");
}

TEST(SlurmNow, WhatIsOddAboutTheLogIsTold) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fairlead_slurm_now_test.txt";
  std::ofstream(path) << "JobID|User|Submit|ElapsedRaw|AllocTRES|State\n"
                         "1|ann|2026-03-02T07:00:00|60|gres/gpu:p100=1|COMPLETED\n"
                         "2|ann|2026-03-02T07:00:00|soon|gres/gpu:p100=1|COMPLETED\n";
  const auto now = slurm_now({.nodes = kFiles.nodes, .ended = path});
  std::filesystem::remove(path);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_TRUE(std::ranges::any_of(now->said, [](const std::string& line) {
    return line.starts_with("left out: 1 of 2 rows of the log; the first is ") &&
           line.find(":3:27: ") != line.npos;
  })) << fmt::format("{}", fmt::join(now->said, "\n"));
}

// Imports nodes and a log; the paths are removed again.
Result<ClusterNow> imported(const char* nodes, const char* log) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto node_path = folder / "fairlead_slurm_now_nodes.txt";
  const auto log_path = folder / "fairlead_slurm_now_log.txt";
  std::ofstream(node_path) << nodes;
  std::ofstream(log_path) << log;
  auto now = slurm_now({.nodes = node_path, .ended = log_path});
  std::filesystem::remove(node_path);
  std::filesystem::remove(log_path);
  return now;
}

constexpr const char* kTwoTypes =
    "NodeName=a1 Gres=gpu:a100:8 State=IDLE Partitions=gpu ActiveFeatures=nvlink\n"
    "NodeName=a2 Gres=gpu:a100:8 State=IDLE Partitions=gpu\n"
    "NodeName=v1 Gres=gpu:v100:4,gpu:a100_1g.5gb:14 State=IDLE Partitions=old\n";

bool said(const ClusterNow& now, std::string_view begin) {
  return std::ranges::any_of(now.said,
                             [&](const std::string& line) { return line.starts_with(begin); });
}

TEST(SlurmNow, JobsOfTheLogMayRunWhereTheyAskedTo) {
  const auto now = imported(
      kTwoTypes,
      "JobID|User|Partition|Submit|ElapsedRaw|Constraints|ReqTRES|AllocTRES|State\n"
      "1|ann|gpu|1792400000|60||gres/gpu=2,node=2|gres/gpu:a100=2,gres/gpu=2,node=2|COMPLETED\n"
      "2|ann|gpu|1792400001|60|nvlink|gres/gpu=2,node=1|gres/gpu:a100=2,node=1|COMPLETED\n"
      "3|ann|old|1792400002|60||gres/gpu:a100_1g.5gb=1|gres/gpu:a100_1g.5gb=1|COMPLETED\n"
      "4|ann|old|1792400003|60||gres/gpu:v100=2,node=1|gres/gpu:v100=2,node=1|COMPLETED\n"
      "5|ann|old|1792400004|60||gres/gpu:p100=2,node=1|gres/gpu:p100=2,node=1|COMPLETED\n"
      "6|ann|gone|1792400005|60||gres/gpu:v100=1,node=1|gres/gpu:v100=1,node=1|COMPLETED\n");
  ASSERT_TRUE(now) << now.error().message;
  const Workload& log = now->trace->workload();
  ASSERT_EQ(log.jobs.size(), 5U);
  EXPECT_EQ(log.runs_on.at(JobId(0)), "a100/nvlink+a100/other");
  EXPECT_EQ(log.runs_on.at(JobId(1)), "a100/nvlink");
  EXPECT_EQ(log.runs_on.at(JobId(2)), "a100_1g.5gb");
  EXPECT_EQ(log.runs_on.at(JobId(3)), "v100");
  EXPECT_EQ(log.runs_on.at(JobId(4)), "v100");
  EXPECT_EQ(log.reference_types[JobId(1)], "a100/nvlink");
  EXPECT_EQ(log.jobs.task_gpus[JobId(0)], 1U);
  EXPECT_EQ(log.jobs.task_gpus[JobId(1)], 2U);
  EXPECT_TRUE(said(*now, "left out: 1 job of the log, of GPUs that no node has now: p100"));
  EXPECT_TRUE(said(*now, "no node has the partition gone of 1 job"));
  EXPECT_TRUE(said(*now, "MIG instances are of types of their own"));
}

TEST(SlurmNow, JobsOfWhichNothingStatesWhereTheyMayRunAreCounted) {
  const auto now = imported(kTwoTypes,
                            "JobID|User|Submit|ElapsedRaw|AllocTRES|State\n"
                            "1|ann|1792400000|60|gres/gpu:a100=2,gres/gpu=2,node=1|COMPLETED\n");
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_TRUE(now->trace->workload().runs_on.empty());
  EXPECT_TRUE(said(*now, "nothing states where 1 job of the log may run, 100 % of its GPU time"));
}

}  // namespace
}  // namespace fairlead
