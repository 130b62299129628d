// `fairlead when | whatif`, run by a shell against a daemon with fixed answers.

#include "commands.h"

namespace fairlead {
namespace {

TEST_F(Commands, WhatIfOnKubernetesHasThePolicyOfTheScheduler) {
  list("/api/v1/nodes", R"({"metadata": {"name": "n0"}, "status": {
    "allocatable": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi", "pods": "110"},
    "conditions": [{"type": "Ready", "status": "True"}]}})");
  list("/api/v1/pods", R"({"metadata": {"name": "train", "namespace": "ann", "uid": "u1",
      "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"schedulerName": "fairlead",
      "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
    "status": {"phase": "Pending"}})");
  list("/api/v1/namespaces/ml/configmaps", "");
  const Ended alone = ask_kubernetes("whatif --policy srtf");
  EXPECT_EQ(alone.exit_code, 0) << alone.errors;
  EXPECT_NE(alone.out.find("  the present policy is left out: not asked in this test\n"),
            std::string::npos)
      << alone.out;
  on("GET /v1/cluster", json::parse(kCluster));
  const Ended ended = ask_kubernetes("whatif --policy srtf --json");
  const json policies = json::parse(ended.out, nullptr, false)["policies"];
  ASSERT_EQ(policies.size(), 2U) << ended.out << ended.errors;
  EXPECT_EQ(policies[0]["policy"], "fifo:skip=true");
  EXPECT_EQ(policies[0]["runs_now"], true);
  EXPECT_EQ(policies[1]["policy"], "srtf");
  EXPECT_EQ(policies[1]["jobs_ended"], 1);
}

TEST_F(Commands, WhenForecastsAManifestThatIsNotSubmitted) {
  list("/api/v1/nodes", R"({"metadata": {"name": "n0"}, "status": {
    "allocatable": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi", "pods": "110"},
    "conditions": [{"type": "Ready", "status": "True"}]}})");
  list("/api/v1/pods", "");
  list("/api/v1/namespaces/ml/configmaps", "");
  on_creation("/apis/batch/v1/namespaces/vision/jobs", R"({"apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "train", "namespace": "vision", "uid": "u1",
      "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"parallelism": 1, "completions": 1, "suspend": false, "template": {"spec": {
      "schedulerName": "fairlead",
      "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}}}})");
  on("GET /v1/cluster", json::parse(kCluster));
  const std::string file = write("job.yaml",
                                 "apiVersion: batch/v1\n"
                                 "kind: Job\n"
                                 "metadata: {name: train, namespace: vision}\n");
  const Ended ended = ask_kubernetes("when --time 2m -f " + file);
  EXPECT_EQ(ended.errors, "");
  EXPECT_EQ(ended.out,
            "vision/train starts now and ends in 2m 10s (02:48), if no other job comes\n\n"
            "This guesses that every policy starts from scratch, and that\n"
            "  1 job still takes 2m, by their median: as declared\n"
            "  a Job has run since it was last started or resumed\n"
            "  nodes have all of their CPU and memory for these gangs\n");
  const json answer = json::parse(ask_kubernetes("when --json -f - < " + file).out, nullptr, false);
  EXPECT_EQ(answer["name"], "vision/train");
  EXPECT_EQ(answer["guesses"][0]["source"], "an hour, because nothing is known");

  const std::string here = write("here.yaml", "apiVersion: batch/v1\nkind: Job\n");
  EXPECT_EQ(ask_kubernetes("when -f " + here).errors,
            "fairlead: " + here + ": 404 {\"kind\": \"Status\"}\n");
  const std::string pod = write("pod.yaml", "apiVersion: v1\nkind: Pod\n");
  EXPECT_EQ(ask_kubernetes("when -f " + pod).errors,
            "fairlead: " + pod + ":1:1: no kind of job that can be forecast: Pod\n");
  EXPECT_EQ(ask_kubernetes("when -f " + write("bad.yaml", "kind: Job\n")).exit_code, 2);
}

TEST_F(Commands, WhatIfComparesPoliciesOnTheQueue) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/users", json{{"users", json::array()}});
  on("GET /v1/jobs?all=1",
     json{{"jobs", {job(3, "cancelled"), job(7, "running"), job(9, "waiting")}}});
  const Ended ended = ask("whatif --policy srtf --policy gandiva-fair:quantum_s=30 --out runs");
  EXPECT_EQ(ended.errors, "");
  EXPECT_NE(ended.out.find("\nfifo (now)"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\ngandiva-fair:quantum_s=30  "), std::string::npos);
  EXPECT_NE(ended.out.find("\n  job 9 still takes 1m: as declared\n"), std::string::npos);
  const Ended report = fairlead("report runs");
  EXPECT_EQ(report.exit_code, 0) << report.errors;
  EXPECT_NE(report.out.find("3 runs of 2 jobs"), std::string::npos) << report.out;
  const json answer = json::parse(ask("whatif --policy srtf --json").out, nullptr, false);
  EXPECT_EQ(answer["policies"].size(), 2U);
  EXPECT_EQ(ask("whatif --policy none").exit_code, 2);
  EXPECT_EQ(ask("whatif").exit_code, 2);
  on("GET /v1/jobs?all=1", json{{"jobs", json::array()}});
  EXPECT_EQ(ask("whatif --policy srtf").errors,
            "fairlead: no job wants GPUs now; `fairlead ps` shows the jobs\n");
}

TEST_F(Commands, WhenForecastsByTheDaemonsPolicy) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/users", json{{"users", {{{"name", "ann"}, {"tickets", 2}}}}});
  json waiting = job(9, "waiting");
  waiting["gpus"] = 2;
  waiting["gpu_s"] = 0;
  json held = job(10, "held");
  on("GET /v1/jobs?all=1", json{{"jobs", {job(3, "cancelled"), job(7, "running"), waiting, held}}});
  const Ended when = ask("when 9");
  EXPECT_EQ(when.errors, "");
  EXPECT_EQ(when.out,
            "job 9 starts in 1m 10s (02:47) and ends in 3m 20s (02:50), if no other job comes\n"
            "\n"
            "This guesses that\n"
            "  job 7 still takes 1m: as declared\n"
            "  job 9 still takes 2m: as declared\n");
  EXPECT_EQ(ask("when 3").out, "job 3 was cancelled\n");
  EXPECT_EQ(ask("when 10").out, "job 10 is held; `fairlead release 10` releases it\n");
  EXPECT_EQ(ask("when 99").exit_code, 2);
}

TEST_F(Commands, WhenForecastsAJobBeforeItsSubmission) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/users", json{{"users", {{{"name", "ann"}, {"tickets", 2}}}}});
  json finished = job(3, "finished");
  finished["model"] = "train.py";
  finished["gpu_s"] = 600;
  on("GET /v1/jobs?all=1", json{{"jobs", {finished, job(7, "running")}}});
  const Ended declared = ask("when -g 2 --time 2m");
  EXPECT_EQ(declared.errors, "");
  EXPECT_EQ(
      declared.out,
      "job 8 (2 GPUs, not submitted yet) starts in 1m 10s (02:47) and ends in 3m 20s (02:50), "
      "if no other job comes\n"
      "\n"
      "This guesses that\n"
      "  job 7 still takes 1m: as declared\n"
      "  job 8 still takes 2m: as declared\n");
  const std::string alike = "  job 8 still takes 10m: as jobs of train.py take\n";
  for (const char* one : {"when -g 1 -m train.py", "when -- python train.py"}) {
    const Ended ended = ask(one);
    EXPECT_TRUE(ended.out.starts_with("job 8 (1 GPU, not submitted yet) starts now and ends in "))
        << ended.out;
    EXPECT_TRUE(ended.out.ends_with(alike)) << ended.out << ended.errors;
  }
  EXPECT_TRUE(json::parse(ask("when -g 3 --json").out, nullptr, false)["start_s"].is_null());
  for (const char* bad : {"when", "when 7 -g 2", "when 7 --time 3h", "when 7 -- python train.py",
                          "when -g 0", "when -g 1 --time soon", "when -f job.yaml -g 2"})
    EXPECT_EQ(ask(bad).exit_code, 2) << bad;
}

}  // namespace
}  // namespace fairlead
