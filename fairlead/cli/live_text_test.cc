#include "fairlead/cli/live_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

ClusterAnswer cluster() {
  return cluster_answer(json::parse(R"({
    "now_unix_ms": 10000000, "policy": "gandiva-fair", "policy_options": "",
    "nodes": [
      {"name": "V100", "type": "V100", "is_cordoned": false, "gpus": [
        {"index": 0, "state": "busy", "job": 12}, {"index": 1, "state": "busy", "job": 12}]},
      {"name": "K80", "type": "K80", "is_cordoned": true, "gpus": [
        {"index": 2, "state": "stopping", "job": 9}, {"index": 3, "state": "idle", "job": null}]}]})"));
}

std::vector<JobAnswer> jobs() {
  return job_answers(json::parse(R"({"jobs": [
    {"id": 11, "name": "late", "user": "bob", "gpus": 4, "state": "waiting",
     "since_unix_ms": 9995000, "gpu_s": 0, "on": [], "reason": "4 GPUs are not free"},
    {"id": 12, "name": "resnet", "user": "ann", "gpus": 2, "state": "running",
     "since_unix_ms": 2400000, "gpu_s": 7200, "on": [{"node": "V100", "gpus": [0, 1]}],
     "progress": {"done": 25, "total": 100, "unit_per_s": 1}},
    {"id": 9, "name": "old\u001b[2J", "user": "bob", "gpus": 1, "state": "running",
     "since_unix_ms": 0, "gpu_s": 61, "on": [{"node": "K80", "gpus": [2]}]}]})"));
}

TEST(LiveText, ALearnedSpeedHasItsCountAndConfidence) {
  const auto models = model_answers(json::parse(R"({"models": [
    {"user": "bob", "model": "train.py", "gpu_type": "K80", "gpus": 2, "tier": "node", "speed": 0.25,
     "measurements": 3, "confidence": 0.8, "measured_unix_ms": 9940000},
    {"user": "ann", "model": "vgg", "gpu_type": "V100", "gpus": 1, "tier": "pair", "speed": 1,
     "measurements": 1, "confidence": 0.6667, "measured_unix_ms": 10000001, "profile": null}]})"));
  EXPECT_EQ(models_text(cluster(), models, TextStyle::kPlain),
            "USER  MODEL     GPU TYPE  GPUS  TIER  SPEED  MEASURED  CONFIDENCE    LAST\n"
            "ann   vgg       V100         1  pair      1       1 x      66.7 %  0s ago\n"
            "bob   train.py  K80          2  node   0.25       3 x      80.0 %  1m ago\n");
  EXPECT_EQ(profiles_text(models, TextStyle::kPlain), "");
}

TEST(LiveText, AProfileHasARowForEachModelOfAUser) {
  const auto models = model_answers(json::parse(R"({"models": [
    {"user": "ann", "model": "vgg", "gpu_type": "V100", "profile":
     {"gradients_mb": 553.43, "largest_tensor_mb": 411.04, "workers": 8, "samples": 32}},
    {"user": "ann", "model": "vgg", "gpu_type": "K80", "profile":
     {"gradients_mb": 553.43, "largest_tensor_mb": 411.04, "workers": 8, "samples": 32}},
    {"user": "ann", "model": "gpt", "gpu_type": "K80", "profile": null},
    {"user": "bob", "model": "vgg", "gpu_type": "K80", "profile":
     {"gradients_mb": 0.004, "largest_tensor_mb": 0.004, "workers": 1, "samples": null}}]})"));
  EXPECT_EQ(profiles_text(models, TextStyle::kPlain),
            "USER  MODEL  GRADIENTS  LARGEST TENSOR  WORKERS  SAMPLES\n"
            "ann   vgg     553.4 MB        411.0 MB        8       32\n"
            "bob   vgg       0.0 MB          0.0 MB        1        -\n");
}

TEST(LiveText, AJobThatLeavesItsGpusIdleIsNamed) {
  auto with = jobs();
  with[0].idle_s = 840;
  EXPECT_NE(queue_text(cluster(), with, TextStyle::kPlain).find("GPUs idle for 14m"),
            std::string::npos);
}

TEST(LiveText, WhatElseUsesAGpuIsNamed) {
  ClusterAnswer with = cluster();
  with.nodes[1].gpus[1].state = "down";
  with.nodes[1].gpus[1].foreign = {
      {4242, "python", "bob", "is not a Fairlead job"},
      {4243, "sh\x1b[2J", "bob", "is of job 12, which has other GPUs"}};
  const std::string queue = queue_text(with, {}, TextStyle::kPlain);
  EXPECT_NE(queue.find("\nGPU 3: python of bob (pid 4242) is not a Fairlead job; sh"),
            std::string::npos)
      << queue;
  EXPECT_NE(queue.find("(pid 4243) is of job 12, which has other GPUs\n"), std::string::npos)
      << queue;
  EXPECT_EQ(queue.find('\x1b'), std::string::npos);
  const std::string gpus = gpus_text(with, {}, TextStyle::kPlain);
  EXPECT_NE(gpus.find("  python of bob (pid 4242) is not a Fairlead job"), std::string::npos)
      << gpus;
}

TEST(LiveText, AGpuOutOfServiceHasALine) {
  ClusterAnswer with = cluster();
  with.nodes[1].gpus[1].state = "closed";
  with.nodes[1].gpus[1].outage = "job 12 of ann failed at once on it";
  with.nodes[0].gpus[0].outage = "an administrator closed it";
  const std::string queue = queue_text(with, {}, TextStyle::kPlain);
  EXPECT_NE(queue.find("\nGPU 0 is closed after its job: an administrator closed it\n"
                       "GPU 3 is closed: job 12 of ann failed at once on it\n"),
            std::string::npos)
      << queue;
  EXPECT_NE(gpus_text(with, {}, TextStyle::kPlain).find("job 12 of ann failed at once on it"),
            std::string::npos);
}

TEST(LiveText, TheQueueShowsWhoHasGpusBeforeWhoWaits) {
  EXPECT_EQ(queue_text(cluster(), jobs(), TextStyle::kPlain),
            R"(3 of 4 GPUs in use, idle: K80:3; 1 job waits; policy gandiva-fair

JOB  NAME     USER  GPUS  STATE     SINCE  GPU TIME  ON
  9  old?[2J  bob      1  running  2h 46m     1m 1s  K80:2
 12  resnet   ann      2  running   2h 6m        2h  V100:0-1  25.0 %
 11  late     bob      4  waiting      5s        0s            4 GPUs are not free
)");
}

TEST(LiveText, AnEmptyQueueIsOneLine) {
  EXPECT_EQ(queue_text(cluster(), {}, TextStyle::kPlain),
            "3 of 4 GPUs in use, idle: K80:3; 0 jobs wait; policy gandiva-fair\n");
}

TEST(LiveText, EveryGpuSaysWhoHasIt) {
  EXPECT_EQ(gpus_text(cluster(), jobs(), TextStyle::kPlain),
            R"(GPU  NODE  TYPE  STATE               JOB  NAME     USER
  0  V100  V100  busy                 12  resnet   ann
  1  V100  V100  busy                 12  resnet   ann
  2  K80   K80   stopping, cordoned    9  old?[2J  bob
  3  K80   K80   idle, cordoned
)");
}

TEST(LiveText, UsersShowWhatIsDueAndWhatTheyHave) {
  const auto users = user_answers(json::parse(R"({"users": [
    {"name": "bob", "tickets": 1, "gpu_s": 61, "entitled_gpus": 1.25, "held_gpus": 1,
     "jobs_waiting": 1, "jobs_running": 1},
    {"name": "ann", "tickets": 3, "gpu_s": 7200, "entitled_gpus": 2.75, "held_gpus": 2,
     "jobs_waiting": 0, "jobs_running": 1}]})"));
  EXPECT_EQ(users_text(users, TextStyle::kPlain),
            R"(USER  TICKETS  GPUS DUE  ALLOCATED  RUNNING  WAITING  GPU TIME
ann         3       2.8          2        1        0        2h
bob         1       1.2          1        1        1     1m 1s
)");
}

TEST(LiveText, GpusOfANodeAreShownAsRanges) {
  EXPECT_EQ(on_text({}), "");
  EXPECT_EQ(on_text({{"V100", {0, 1, 2, 5, 7, 8}}, {"K80", {9}}}), "V100:0-2,5,7-8 K80:9");
}

JobAnswer ended(std::string state, std::int64_t exit_code, std::int64_t signal) {
  return {.id = 12, .state = std::move(state), .exit_code = exit_code, .signal = signal};
}

TEST(LiveText, TheExitCodeIsThatOfTheJob) {
  EXPECT_EQ(exit_code_of(ended("finished", 0, 0)), 0);
  EXPECT_EQ(exit_code_of(ended("failed", 7, 0)), 7);
  EXPECT_EQ(exit_code_of(ended("failed", 0, 9)), 137);
  EXPECT_EQ(exit_code_of({.state = "failed"}), 1);
  EXPECT_EQ(exit_code_of({.state = "cancelled"}), 130);
  EXPECT_EQ(exit_code_of(ended("cancelled", 0, 15)), 143);
  EXPECT_EQ(exit_code_of({.state = "rejected"}), 1);
}

TEST(LiveText, AnEndSaysHow) {
  EXPECT_EQ(end_text(ended("finished", 0, 0)), "job 12 finished");
  EXPECT_EQ(end_text(ended("failed", 7, 0)), "job 12 failed: exit code 7");
  EXPECT_EQ(end_text(ended("failed", 0, 9)), "job 12 failed: signal 9");
  EXPECT_EQ(end_text(ended("cancelled", 0, 0)), "job 12 was cancelled");
  EXPECT_EQ(end_text({.id = 3, .state = "rejected", .reason = "too large"}),
            "job 3 was rejected: too large");
}

}  // namespace
}  // namespace fairlead
