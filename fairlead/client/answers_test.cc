#include "fairlead/client/answers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

TEST(Answers, AJobIsReadWhole) {
  const JobAnswer job = job_answer(json::parse(R"({
    "id": 12, "name": "resnet", "user": "ann", "model": "ResNet50", "gpus": 2, "state": "failed",
    "submitted_unix_ms": 1000, "since_unix_ms": 1500, "finished_unix_ms": 2000, "gpu_s": 1.5,
    "on": [{"node": "V100", "gpus": [0, 3]}], "restarts": 4, "reason": "exit code 7",
    "exit_code": 7, "signal": 9, "declared_s": 60.5, "limit_s": 90.5, "retries_left": 2,
    "progress": {"done": 10, "total": 100, "unit_per_s": 2.5}, "log": "/logs/12"})"));
  EXPECT_EQ(job.id, 12);
  EXPECT_EQ(job.name + " " + job.user + " " + job.model, "resnet ann ResNet50");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(job.submitted_unix_ms, 1000);
  EXPECT_EQ(job.since_unix_ms, 1500);
  EXPECT_EQ(job.finished_unix_ms, 2000);
  EXPECT_EQ(job.gpu_s, 1.5);
  ASSERT_EQ(job.on.size(), 1U);
  EXPECT_EQ(job.on[0].node, "V100");
  EXPECT_EQ(job.on[0].gpus, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(job.restarts, 4);
  EXPECT_EQ(job.reason, "exit code 7");
  EXPECT_EQ(job.exit_code, 7);
  EXPECT_EQ(job.signal, 9);
  EXPECT_EQ(job.declared_s, 60.5);
  EXPECT_EQ(job.limit_s, 90.5);
  EXPECT_EQ(job.retries_left, 2);
  EXPECT_EQ(job.progress.value().done, 10);
  EXPECT_EQ(job.progress.value().total, 100);
  EXPECT_EQ(job.progress.value().unit_per_s, 2.5);
  EXPECT_EQ(job.log, "/logs/12");
  EXPECT_TRUE(job.is_done());
}

TEST(Answers, WhatIsMissingOrOfAnotherKindHasItsDefault) {
  const JobAnswer job = job_answer(json::parse(
      R"({"id": 3, "name": null, "gpus": "two", "on": {}, "exit_code": null, "progress": 5})"));
  EXPECT_EQ(job.id, 3);
  EXPECT_EQ(job.name, "");
  EXPECT_EQ(job.gpus, 1);
  EXPECT_TRUE(job.on.empty());
  EXPECT_FALSE(job.exit_code || job.declared_s || job.progress || job.is_done());
  EXPECT_TRUE(job_answers(json::parse("[1]")).empty());
  EXPECT_TRUE(cluster_answer(json("text")).nodes.empty());
}

TEST(Answers, JobsComeByIdAndUsersByName) {
  const auto jobs = job_answers(json::parse(R"({"jobs": [{"id": 5}, {"id": 3}]})"));
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, 3);
  const auto users = user_answers(json::parse(
      R"({"users": [{"name": "bob"}, {"name": "ann", "tickets": 3, "gpu_s": 7200,
          "entitled_gpus": 1.5, "held_gpus": 2, "jobs_waiting": 4, "jobs_running": 1}]})"));
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].name, "ann");
  EXPECT_EQ(users[0].tickets, 3);
  EXPECT_EQ(users[0].gpu_s, 7200);
  EXPECT_EQ(users[0].entitled_gpus, 1.5);
  EXPECT_EQ(users[0].allocated_gpus, 2);
  EXPECT_EQ(users[0].jobs_waiting, 4);
  EXPECT_EQ(users[0].jobs_running, 1);
}

TEST(Answers, AClusterIsReadWhole) {
  const ClusterAnswer cluster = cluster_answer(json::parse(R"({
    "now_unix_ms": 5, "policy": "fifo", "policy_options": "skip=true",
    "nodes": [{"name": "a", "type": "V100", "is_cordoned": true,
               "gpus": [{"index": 0, "state": "busy", "job": 12},
                        {"index": 1, "state": "idle", "job": null}]}]})"));
  EXPECT_EQ(cluster.now_unix_ms, 5);
  EXPECT_EQ(cluster.policy + " " + cluster.policy_options, "fifo skip=true");
  ASSERT_EQ(cluster.nodes.size(), 1U);
  const NodeAnswer& node = cluster.nodes[0];
  EXPECT_EQ(node.name + " " + node.type, "a V100");
  EXPECT_TRUE(node.is_cordoned);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.gpus[0].job, 12);
  EXPECT_EQ(node.gpus[1].job, std::nullopt);
  EXPECT_EQ(node.gpus[1].index, 1);
  EXPECT_EQ(node.gpus[1].state, "idle");
}

}  // namespace
}  // namespace fairlead
