#include "fairlead/forecast/kubernetes_now.h"

#include "fairlead/forecast/what_if.h"
#include "fairlead/model/workload.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using State = CensusGang::State;

constexpr std::int64_t kNow = 1'800'000'000'000;
constexpr std::int64_t kHour = 3'600'000;

Node node(const std::string& name, const std::string& product, const std::string& zone) {
  return {.name = name,
          .product = product,
          .gpus = 8,
          .gpus_all = 8,
          .labels = {{"topology.kubernetes.io/zone", zone}, {"nvidia.com/gpu.product", product}},
          .allocatable = {{"pods", 110'000}},
          .is_ready = true};
}

// A finished job, one that has run for half an hour, and two that wait.
Census census() {
  Census census{.unix_ms = kNow};
  census.nodes["a"] = node("a", "NVIDIA-H100-80GB-HBM3", "z1");
  census.nodes["b"] = node("b", "Tesla-V100-SXM2-32GB", "z2");
  census.gangs = {{.name_space = "ann",
                   .name = "done",
                   .model = "resnet50",
                   .tasks = 2,
                   .task_gpus = 4,
                   .state = State::kFinished,
                   .created_unix_ms = kNow - 10 * kHour,
                   .started_unix_ms = kNow - 5 * kHour,
                   .ended_unix_ms = kNow - 3 * kHour,
                   .node = "b"},
                  {.name_space = "ann",
                   .name = "runs",
                   .model = "resnet50",
                   .task_gpus = 8,
                   .state = State::kRunning,
                   .created_unix_ms = kNow - kHour,
                   .started_unix_ms = kNow - kHour / 2,
                   .node = "a"},
                  {.name_space = "bob",
                   .name = "short",
                   .model = "short",
                   .task_gpus = 1,
                   .declared = seconds(600),
                   .created_unix_ms = kNow - kHour / 4},
                  {.name_space = "bob",
                   .name = "v100-only",
                   .model = "bert",
                   .task_gpus = 8,
                   .declared = seconds(7200),
                   .created_unix_ms = kNow}};
  census.gangs.back().needs.rules.selector = {
      {"nvidia.com/gpu.product", LabelRule::Kind::kIn, {"Tesla-V100-SXM2-32GB"}}};
  census.tickets["bob"] = 3;
  return census;
}

TEST(KubernetesNow, RunningGangsComeFirstInTheQueue) {
  const auto now = kubernetes_now(census());
  ASSERT_TRUE(now) << now.error().message;
  std::vector<std::string> names;
  for (const JobAnswer& job : now->queue.jobs) names.push_back(job.name);
  EXPECT_EQ(names, (std::vector<std::string>{"ann/runs", "bob/short", "bob/v100-only"}));
  EXPECT_EQ(now->queue.cluster.gpus, 16U);
  EXPECT_EQ(now->queue.cluster.rack_nodes.size(), 2U);
  EXPECT_DOUBLE_EQ(now->queue.left[0].s, 1.5 * 3600) << "two hours, as the finished one took";
  EXPECT_EQ(now->queue.left[0].source, "as jobs of resnet50 take");
  EXPECT_DOUBLE_EQ(now->queue.left[1].s, 600);
}

TEST(KubernetesNow, PoliciesHaveTheirFigures) {
  const auto now = kubernetes_now(census());
  ASSERT_TRUE(now);
  const auto fifo = what_if(now->queue, "fifo");
  ASSERT_TRUE(fifo) << fifo.error().message;
  EXPECT_EQ(fifo->jobs, 3);
  EXPECT_EQ(fifo->ended, 3);
  const auto bob = std::ranges::find(fifo->users, "bob", &WhatIf::User::user);
  ASSERT_NE(bob, fifo->users.end());
  // The job that insists on the V100s waits for the short one, which took one of these GPUs: a and b are full of two
  // jobs of 8 GPUs.
  EXPECT_GE(fifo->end_last_s.value(), 7200 + 600);
}

TEST(KubernetesNow, TheTraceHasTheHistory) {
  const auto now = kubernetes_now(census());
  ASSERT_TRUE(now);
  EXPECT_EQ(now->queue.cluster.rack_nodes.size(), 2U);
  ASSERT_TRUE(now->trace.has_value());
  const Workload& trace = now->trace->workload();
  ASSERT_EQ(trace.jobs.size(), 4U);
  EXPECT_EQ(trace.names[JobId(0)], "ann/done");
  EXPECT_EQ(trace.jobs.task_gpus[JobId(0)], 4U);
  EXPECT_EQ(trace.durations[JobId(0)], seconds(2 * 3600));
  EXPECT_EQ(trace.reference_types[JobId(0)], "V100");
  EXPECT_EQ(trace.jobs.arrival[JobId(1)], Time{} + seconds(9 * 3600));
  EXPECT_EQ(trace.durations[JobId(1)], seconds(2 * 3600))
      << "half an hour so far, and the remaining time";
  EXPECT_EQ(trace.runs_on, (std::map<JobId, std::string>{{JobId(3), "V100"}}));
  EXPECT_EQ(trace.users.tickets[trace.jobs.user[JobId(3)]], 3);
}

TEST(KubernetesNow, ListsTheGpusOfOthersAndTheNodesThatItLeavesOut) {
  Census here = census();
  here.others["a"] = 3;
  here.nodes["b"].is_ready = false;
  here.left_out = {"lab/x: its pods ask for no nvidia.com/gpu"};
  const auto now = kubernetes_now(here);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->queue.cluster.gpus, 5U);
  for (const char* line :
       {"1 of 2 nodes are left out: not ready, cordoned, or full of pods of others",
        "3 GPUs stay with pods outside these gangs",
        "left out is lab/x: its pods ask for no nvidia.com/gpu"}) {
    EXPECT_NE(std::ranges::find(now->said, line), now->said.end()) << line << "\n"
                                                                   << fmt::format("{}", now->said);
  }
  here.nodes["a"].is_cordoned = true;
  EXPECT_FALSE(kubernetes_now(here)) << "no GPU can be used";
}

TEST(KubernetesNow, ASecondJobOfANameIsAnotherJob) {
  Census twice = census();
  twice.gangs.push_back(twice.gangs.back());
  const auto now = kubernetes_now(twice);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->trace->workload().names[JobId(4)], "bob/v100-only#2");
}

}  // namespace
}  // namespace fairlead
