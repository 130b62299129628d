#include "fairlead/sim/cpu_limits.h"

#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr std::string_view kCluster = R"(
racks:
  - nodes:
      - {count: 1, gpu_type: A100, gpus: 8, cpus: 64, memory_gb: 256}
      - {count: 1, gpu_type: A100, gpus: 8, cpus: 16}
      - {count: 1, gpu_type: A100, gpus: 8}
)";

Cluster cluster() { return parse_cluster_yaml(kCluster, "test.yaml").value(); }

TaskLimits limits_of(const Cluster& nodes, const Workload& workload) {
  return cpu_limits(stated_resources(nodes, workload));
}

Workload jobs(const std::vector<JobRow>& rows) {
  WorkloadBuilder builder("test", Reading::kStrict);
  for (const JobRow& row : rows) EXPECT_TRUE(builder.add(row, "test").has_value());
  return builder.finish();
}

JobRow job(std::string_view id, std::int64_t gpus, CpuMemory asks) {
  return {.id = id, .gpus = gpus, .asks = asks, .duration = seconds(1)};
}

TEST(CpuLimits, ATaskNeedsItsPartOfTheGang) {
  const Workload workload = jobs({job("a", 4, {{32'000}, {}})});  // 8 CPUs for each GPU
  const TaskLimits limits = limits_of(cluster(), workload);
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(0)), 8U);
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(1)), 2U);
}

TEST(CpuLimits, ATaskOfSeveralGpusNeedsMore) {
  JobRow row = job("a", 4, {{32'000}, {}});
  row.task_gpus = 2;
  const TaskLimits limits = limits_of(cluster(), jobs({row}));
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(0)), 4U);
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(1)), 1U);
}

TEST(CpuLimits, ANodeThatStatesNoneDoesNotLimit) {
  const Workload workload = jobs({job("a", 1, {{10'000}, {200'000}})});
  const TaskLimits limits = limits_of(cluster(), workload);
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(0)), 1U) << "by its memory";
  EXPECT_EQ(limits.most_tasks(JobId(0), NodeId(1)), 1U) << "by its CPUs";
  EXPECT_GT(limits.most_tasks(JobId(0), NodeId(2)), 1'000'000U);
}

TEST(CpuLimits, AJobThatStatesNoneIsNotLimited) {
  const Workload workload = jobs({job("a", 1, {{10'000}, {}}), job("b", 1, {})});
  const TaskLimits limits = limits_of(cluster(), workload);
  EXPECT_TRUE(limits.has(JobId(0)));
  EXPECT_FALSE(limits.has(JobId(1)));
}

TEST(CpuLimits, NothingLimitsIfOnlyOneSideStatesAnAmount) {
  const Workload workload = jobs({job("a", 1, {{10'000}, {}})});
  EXPECT_TRUE(limits_of(parse_cluster_shorthand("2xA100:8").value(), workload).empty());
  EXPECT_TRUE(limits_of(cluster(), jobs({job("a", 1, {})})).empty());
}

// Rounding never keeps off a gang whose whole amount is there: 3 x 21.333 CPUs on 64.
TEST(CpuLimits, AGangFitsWhereItsWholeAmountIs) {
  for (const std::int64_t gpus : {3, 6, 7}) {
    const TaskLimits limits = limits_of(cluster(), jobs({job("a", gpus, {{64'000}, {}})}));
    EXPECT_GE(limits.most_tasks(JobId(0), NodeId(0)), static_cast<std::uint32_t>(gpus));
  }
}

TEST(CpuLimits, JobsWithEqualNeedsAreOfOneKind) {
  const Workload workload = jobs({job("a", 1, {{8'000}, {}}), job("b", 2, {{16'000}, {}}),
                                  job("c", 1, {{9'000}, {}}), job("d", 1, {{8'000}, {1'000}})});
  const TaskLimits limits = limits_of(cluster(), workload);
  EXPECT_EQ(limits.kind_of(JobId(0)), limits.kind_of(JobId(1)));
  EXPECT_NE(limits.kind_of(JobId(0)), limits.kind_of(JobId(2)));
  EXPECT_NE(limits.kind_of(JobId(0)), limits.kind_of(JobId(3)));
}

}  // namespace
}  // namespace fairlead
