// The commands that ask a daemon, run by a shell against a daemon with fixed answers.

#include "commands.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>

namespace fairlead {
namespace {

TEST_F(Commands, WithoutADaemonTheySayHowToBegin) {
  const std::string before = "export FAIRLEAD_SOCKET=nowhere";
  const Ended ps = fairlead("ps", before);
  EXPECT_EQ(ps.exit_code, 1);
  EXPECT_EQ(ps.errors,
            "fairlead: no fairlead daemon answers at nowhere; is `fairlead serve` running?\n");
  EXPECT_NE(fairlead("ps --socket elsewhere", before).errors.find("elsewhere"), std::string::npos);
  const Ended bare = fairlead("", before);
  EXPECT_EQ(bare.exit_code, 0);
  EXPECT_NE(bare.out.find("Run jobs:\n  run  "), std::string::npos);
  EXPECT_TRUE(bare.out.ends_with("is `fairlead serve` running?\n")) << bare.out;
}

TEST_F(Commands, TheQueueIsShownByPsAndWithoutACommand) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/jobs", json{{"jobs", {job(7, "running"), job(9, "waiting")}}});
  const std::string text =
      "1 of 2 GPUs in use, idle: V100:1; 1 job waits; policy fifo\n"
      "\n"
      "JOB  NAME      USER  GPUS  STATE    SINCE  GPU TIME  ON\n"
      "  7  train.py  ann      1  running     1m        1m\n"
      "  9  train.py  ann      1  waiting     1m        1m\n";
  for (const char* arguments : {"", "ps"}) {
    const Ended ended = ask(arguments);
    EXPECT_EQ(ended.out, text);
    EXPECT_EQ(ended.errors, "");
    EXPECT_EQ(ended.exit_code, 0);
  }
  on("GET /v1/jobs?all=1&user=a%20b", json{{"jobs", json::array()}});
  const Ended filtered = ask("ps -a -u 'a b' --json");
  EXPECT_EQ(json::parse(filtered.out, nullptr, false), (json{{"jobs", json::array()}}));
  EXPECT_EQ(filtered.errors, "");
}

TEST_F(Commands, TheSchedulerOnKubernetesIsAskedThroughTheApiServerOrAtItsAddress) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/jobs", json{{"jobs", {job(7, "running", "ann/train"), job(9, "waiting", "ann/b")}}});
  on("GET /v1/jobs?all=1&user=ann", json{{"jobs", json::array()}});
  on("GET /v1/users", json::parse(R"({"users": [{"name": "ann", "tickets": 2, "gpu_s": 60}]})"));
  for (const char* at : {"", "its address"}) {
    const Ended ps = ask_kubernetes("ps", at);
    EXPECT_EQ(ps.out,
              "1 of 2 GPUs in use, idle: V100:1; 1 job waits; policy fifo\n"
              "\n"
              "JOB  NAME       USER  GPUS  STATE    SINCE  GPU TIME  ON\n"
              "  7  ann/train  ann      1  running     1m        1m\n"
              "  9  ann/b      ann      1  waiting     1m        1m\n")
        << ps.errors;
    EXPECT_EQ(ps.exit_code, 0);
    EXPECT_EQ(json::parse(ask_kubernetes("ps -a -u ann --json", at).out, nullptr, false),
              (json{{"jobs", json::array()}}));
    EXPECT_NE(ask_kubernetes("users", at).out.find("ann         2 "), std::string::npos);
    EXPECT_NE(ask_kubernetes("gpus", at).out.find("ann/train"), std::string::npos);
    EXPECT_NE(ask_kubernetes("top", at).out.find("ann/train"), std::string::npos);
  }
}

TEST_F(Commands, WhyASchedulerOnKubernetesDoesNotAnswerIsReported) {
  on("GET /v1/users", json{{"error", "this process only follows; sched-2 leads"}}, 503);
  EXPECT_EQ(ask_kubernetes("users").errors, "fairlead: this process only follows; sched-2 leads\n");
  EXPECT_EQ(
      ask_kubernetes("users set ann tickets 3").errors,
      "fairlead: the scheduler on Kubernetes only answers queries; use `kubectl edit configmap "
      "fairlead`\n");
  EXPECT_EQ(ask_kubernetes("gpus cordon n0").exit_code, 2);
  const Ended lone = fairlead("ps --http 127.0.0.1:1");
  EXPECT_EQ(lone.exit_code, 2);
  EXPECT_NE(lone.errors.find("--from"), std::string::npos) << lone.errors;
}

TEST_F(Commands, ASessionNeedsATerminal) {
  const Ended ended = fairlead("run --tty -- bash < /dev/null");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.errors, "fairlead: --tty: standard input and output must be a terminal\n");
}

TEST_F(Commands, ASubmissionCarriesWhatTheShellHas) {
  on("POST /v1/jobs", json{{"id", 12}}, 201);
  const Ended ended =
      ask("submit -g 2 -n resnet --model ResNet50 --time 1h30m --types V100,K80 --processes 2 "
          "--limit 2d --retries 3 --gpu-mem 20.5G --mem 32G --cpus 4.5 -- "
          "python 'a b.py' '[1,2]' -g 5 -- --name",
          "umask 027; export MARK='a=b c'");
  EXPECT_EQ(ended.out, "12\n");
  EXPECT_EQ(ended.errors, "");
  EXPECT_EQ(ended.exit_code, 0);
  const json body = body_of("POST /v1/jobs");
  ASSERT_TRUE(body.is_object());
  EXPECT_EQ(body["name"], "resnet");
  EXPECT_EQ(body["model"], "ResNet50");
  EXPECT_EQ(body["gpus"], 2);
  EXPECT_EQ(body["processes"], 2);
  EXPECT_EQ(body["declared_s"], 5400);
  EXPECT_EQ(body["limit_s"], 172'800);
  EXPECT_EQ(body["retries"], 3);
  EXPECT_EQ(body["gpu_memory_mb"], 20'500);
  EXPECT_EQ(body["memory_mb"], 32'000);
  EXPECT_EQ(body["cpus"], 4.5);
  EXPECT_EQ(body["types"], (json{"V100", "K80"}));
  EXPECT_EQ(body["command"], (json{"python", "a b.py", "[1,2]", "-g", "5", "--", "--name"}));
  EXPECT_EQ(body["umask"], 027);
  EXPECT_EQ(body["folder"], std::filesystem::path(path("x")).parent_path().string());
  const json& environment = body["environment"];
  EXPECT_NE(std::ranges::find(environment, json("MARK=a=b c")), environment.end());
  EXPECT_NE(std::ranges::find(environment, json("PYTHONUNBUFFERED=1")), environment.end());
}

TEST_F(Commands, MemoryHasAUnit) {
  for (const char* flag : {"--gpu-mem", "--mem"})
    for (const char* size : {"20", "G", "20T", "-1G", "0M", "1e9G", "x20G"})
      EXPECT_EQ(ask(fmt::format("submit {}={} -- true", flag, size)).errors,
                fmt::format("fairlead: {}: like 20G or 500M: {}\n", flag, size));
}

TEST_F(Commands, ProcessorsAreANumber) {
  for (const char* cpus : {"0", "-1", "4G", "1e9", "x"})
    EXPECT_EQ(ask(fmt::format("submit --cpus={} -- true", cpus)).errors,
              fmt::format("fairlead: --cpus: a number from 0.01, like 4 or 0.5: {}\n", cpus));
}

TEST_F(Commands, WhatTheShellSetsIsNotReplaced) {
  on("POST /v1/jobs", json{{"id", 12}}, 201);
  EXPECT_EQ(ask("submit -- true", "export PYTHONUNBUFFERED=").out, "12\n");
  const json body = body_of("POST /v1/jobs");
  EXPECT_EQ(std::ranges::count(body["environment"], json("PYTHONUNBUFFERED=")), 1);
  EXPECT_EQ(std::ranges::count(body["environment"], json("PYTHONUNBUFFERED=1")), 0);
  EXPECT_FALSE(body.contains("declared_s") || body.contains("limit_s") || body.contains("types"));
}

TEST_F(Commands, ACommandIsSetApart) {
  EXPECT_EQ(ask("run -g 1 python train.py").errors,
            "fairlead: put -- before the command, as in `fairlead run -g 1 -- python train.py`: "
            "python\n");
  EXPECT_EQ(
      ask("run --gpu-count 1 -- python").errors,
      "fairlead: no such flag of `fairlead run` (`fairlead run --help` lists them; the command "
      "and its flags follow --): --gpu-count\n");
  const Ended none = ask("submit --");
  EXPECT_EQ(none.errors,
            "fairlead: name a command, as in `fairlead submit -g 1 -- python train.py`\n");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(ask("submit -t 2 -- true").errors,
            "fairlead: a length of time is like 90s, 30m, 2h or 1h30m: 2\n");
  EXPECT_TRUE(asked().empty());
}

TEST_F(Commands, ARunPrintsTheOutputAndEndsAsItsJob) {
  run_job();
  write("log", "first\n");
  on("GET /v1/jobs/12/end", [this](const HttpMessage&, pid_t) {
    std::ofstream(path("log"), std::ios::app) << "last";
    json failed = job(12, "failed");
    failed["exit_code"] = 7;
    failed["reason"] = "exit code 7";
    return Answer{200, failed.dump()};
  });
  const Ended ended = ask("run -- false");
  EXPECT_EQ(ended.out, "first\nlast");
  EXPECT_EQ(ended.errors, "fairlead: job 12 failed: exit code 7\n");
  EXPECT_EQ(ended.exit_code, 7);
}

TEST_F(Commands, ARunThatWaitsSaysForHowMany) {
  run_job();
  json waiting = job(12, "waiting");
  waiting["log"] = path("log");  // which is never written
  on("GET /v1/jobs/12", waiting);
  on("GET /v1/jobs", json{{"jobs", {job(7, "running"), job(9, "suspended"), waiting}}});
  on("GET /v1/jobs/12/end", job(12, "finished"));
  const Ended ended = ask("run -- true");
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.errors, "job 12 waits: 1 job before it (fairlead why 12, fairlead when 12)\n");
  EXPECT_EQ(ended.exit_code, 0);
}

TEST_F(Commands, ARunOutlastsItsDaemon) {
  run_job();
  write("log", "output\n");
  std::atomic<int> asked_end = 0;
  on("GET /v1/jobs/12/end", [&](const HttpMessage&, pid_t) {
    return ++asked_end < 3 ? Answer{0} : Answer{200, job(12, "finished").dump()};
  });
  const Ended ended = ask("run -- true");
  EXPECT_EQ(ended.out, "output\n");
  EXPECT_EQ(ended.errors, "fairlead: the daemon has stopped; job 12 continues without it\n");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(asked_end, 3);
}

TEST_F(Commands, CtrlCCancelsTheJobAndWaitsForItsEnd) {
  run_job();
  std::promise<void> cancelled;
  on("GET /v1/jobs/12/end", [&](const HttpMessage&, pid_t peer) {
    kill(peer, SIGINT);
    cancelled.get_future().wait();
    return Answer{200, job(12, "cancelled").dump()};
  });
  on("POST /v1/jobs/12/cancel", [&](const HttpMessage&, pid_t) {
    cancelled.set_value();
    return Answer{};
  });
  const Ended ended = ask("run -- true");
  EXPECT_EQ(ended.errors,
            "fairlead: cancels job 12; Ctrl-C leaves without waiting for its end\n"
            "fairlead: job 12 was cancelled\n");
  EXPECT_EQ(ended.exit_code, 130);
}

TEST_F(Commands, ASecondCtrlCLeavesAtOnce) {
  run_job();
  std::promise<void> left;
  on("GET /v1/jobs/12/end", [&](const HttpMessage&, pid_t peer) {
    kill(peer, SIGINT);
    left.get_future().wait();
    return Answer{0};
  });
  on("POST /v1/jobs/12/cancel", [&](const HttpMessage&, pid_t peer) {
    kill(peer, SIGINT);
    return Answer{};
  });
  const Ended ended = ask("run -- true", ":", [&] { left.set_value(); });
  EXPECT_TRUE(ended.errors.ends_with("fairlead: does not wait for the end of job 12\n"))
      << ended.errors;
  EXPECT_EQ(ended.exit_code, 130);
}

TEST_F(Commands, LogsPrintWhatIsThereOrFollow) {
  run_job();
  write("log", "output\n");
  on("GET /v1/jobs/12/end", job(12, "finished"));
  const Ended logs = ask("logs 12");
  EXPECT_EQ(logs.out + logs.errors, "output\n");
  const Ended followed = ask("logs -f 12");
  EXPECT_EQ(followed.out, "output\n");
  EXPECT_EQ(followed.errors, "fairlead: job 12 finished\n");
  on("GET /v1/jobs/12", job(12, "running"));  // another user's job: its log's path is hidden
  const Ended other = ask("logs 12");
  EXPECT_EQ(other.errors,
            "fairlead: the output of a job is for its user and for administrators: 12\n");
  EXPECT_EQ(other.exit_code, 2);
}

TEST_F(Commands, AJobIsNamedByItsNumberOrByAName) {
  const std::string mine = "GET /v1/jobs?user=" + http_encoded(own_name());
  on(mine,
     json{{"jobs", {job(7, "running", "a"), job(8, "running", "b"), job(9, "waiting", "b")}}});
  on(mine + "&all=1", json{{"jobs", {job(3, "failed", "c"), job(4, "finished", "c")}}});
  for (const int id : {4, 7, 12}) on(fmt::format("POST /v1/jobs/{}/hold", id), json::object());
  const Ended ended = ask("hold 12 a c");
  EXPECT_EQ(ended.errors, "");
  EXPECT_EQ(ended.exit_code, 0);
  const auto all = asked();
  for (const int id : {4, 7, 12})
    EXPECT_EQ(std::ranges::count(all, fmt::format("POST /v1/jobs/{}/hold", id)), 1) << id;
  const Ended wrong = ask("cancel b d");
  EXPECT_EQ(wrong.errors,
            "fairlead: no job of yours has that name; `fairlead ps -a` lists them: d\n"
            "fairlead: several jobs of yours have that name; give the number of one, 8, 9: b\n");
  EXPECT_EQ(wrong.exit_code, 2);
}

TEST_F(Commands, WhatTheDaemonRefusesIsSaidInItsWords) {
  on("POST /v1/jobs", json{{"error", "larger than the machine"}}, 400);
  const Ended refused = ask("submit -- true");
  EXPECT_EQ(refused.errors, "fairlead: larger than the machine\n");
  EXPECT_EQ(refused.exit_code, 2);
  on("POST /v1/jobs", json{{"error", "the disk is full"}}, 503);
  EXPECT_EQ(ask("submit -- true").exit_code, 1);
  on("POST /v1/jobs", json("nonsense"), 500);
  EXPECT_EQ(ask("submit -- true").errors,
            "fairlead: the fairlead daemon refuses: HTTP status 500\n");
}

TEST_F(Commands, OperatorsSetTicketsAndCordonNodes) {
  on("PUT /v1/users/ann", json::object());
  on("PUT /v1/groups/root", json::object());
  on("POST /v1/nodes/V100/cordon", json::object());
  on("POST /v1/nodes/V100/uncordon", json::object());
  on("POST /v1/gpus/3/cordon", json::object());
  on("POST /v1/gpus/4/cordon", json::object());
  for (const char* arguments : {"users set ann tickets 3", "users set-group root max-gpus 2",
                                "gpus cordon V100", "gpus uncordon V100", "gpus cordon 3 4"}) {
    const Ended ended = ask(arguments);
    EXPECT_EQ(ended.out + ended.errors, "") << arguments;
    EXPECT_EQ(ended.exit_code, 0);
  }
  EXPECT_EQ(body_of("PUT /v1/users/ann"), (json{{"tickets", 3}}));
  EXPECT_EQ(body_of("PUT /v1/groups/root"), (json{{"max_gpus", 2}}));
  EXPECT_EQ(asked().size(), 6U);
}

TEST_F(Commands, TopShowsJobsGpusAndUsersOnceWhereThereIsNoTerminal) {
  on("GET /v1/cluster", json::parse(kCluster));
  on("GET /v1/jobs", json{{"jobs", {job(7, "running")}}});
  on("GET /v1/users", json{{"users", {{{"name", "ann"}, {"tickets", 2}}}}});
  const Ended top = ask("top");
  EXPECT_EQ(top.exit_code, 0);
  const Ended gpus = ask("gpus");
  const Ended users = ask("users");
  EXPECT_EQ(top.out, ask("ps").out + "\n" + gpus.out + "\n" + users.out);
  EXPECT_NE(gpus.out.find("  0  V100  V100  busy     7  train.py  ann\n"), std::string::npos);
  EXPECT_NE(users.out.find("ann         2 "), std::string::npos) << users.out;
  EXPECT_EQ(top.out.find('\x1b'), std::string::npos);
}

TEST_F(Commands, ARangeNamesEachOfItsJobs) {
  for (int id = 3; id <= 5; ++id)
    on(fmt::format("POST /v1/jobs/{}/cancel", id), json::object(), id == 4 ? 409 : 200);
  const Ended ended = ask("cancel 3-5");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_EQ(ask("cancel 5-3").errors, "fairlead: a range of jobs is like 12-31: 5-3\n");
}

TEST_F(Commands, PriorityChangesJobsOfRangesAndNames) {
  on("GET /v1/jobs?all=1", json{{"jobs", {job(4, "waiting")}}});
  for (int id = 3; id <= 5; ++id) on(fmt::format("POST /v1/jobs/{}/priority", id), json::object());
  const Ended changed = ask("priority high 3 4-5");
  EXPECT_EQ(changed.exit_code, 0) << changed.errors;
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_EQ(body_of("POST /v1/jobs/5/priority"), (json{{"priority", "high"}}));
  EXPECT_EQ(ask("priority highest 3").exit_code, 2);
  EXPECT_EQ(ask("priority high").exit_code, 2);
  EXPECT_EQ(asked().size(), 3U);
}

TEST_F(Commands, UsageSumsUpByUserModelOrType) {
  on("GET /v1/usage?last_s=2592000", json::parse(R"({"usage": [
    {"user": "ann", "model": "vgg", "gpu_type": "V100", "gpu_s": 3600},
    {"user": "bob", "model": "vgg", "gpu_type": "V100", "gpu_s": 7200},
    {"user": "ann", "model": "", "gpu_type": "K80", "gpu_s": 1800}]})"));
  EXPECT_EQ(ask("usage --since 1.month").out,
            "USER  GPU HOURS   SHARE\n"
            "bob        2.00  57.1 %\n"
            "ann        1.50  42.9 %\n"
            "3.50 GPU-hours in all\n");
  const Ended models = ask("usage --by model");
  EXPECT_NE(models.out.find("(none)       0.50  14.3 %\n"), std::string::npos) << models.out;
  EXPECT_EQ(ask("usage --since yesterday").exit_code, 2);
}

TEST_F(Commands, UsageShowsTheTimeOfForeignProcessesApart) {
  on("GET /v1/usage?last_s=2592000", json::parse(R"({"usage": [
    {"user": "ann", "model": "vgg", "gpu_type": "V100", "foreign": false, "gpu_s": 3600},
    {"user": "ann", "model": "", "gpu_type": "V100", "foreign": true, "gpu_s": 1800},
    {"user": "bob", "model": "", "gpu_type": "V100", "foreign": true, "gpu_s": 1800}]})"));
  EXPECT_EQ(ask("usage --since 1.month").out,
            "USER  GPU HOURS   SHARE  FOREIGN\n"
            "ann        1.50  75.0 %     0.50\n"
            "bob        0.50  25.0 %     0.50\n"
            "2.00 GPU-hours in all; FOREIGN: of processes outside of the user's jobs\n");
}

TEST_F(Commands, WhyPrintsTheDaemonsLines) {
  on("GET /v1/jobs/12/why", json{{"job", 12}, {"lines", {"It waits.", "For \x1b[2J."}}});
  EXPECT_EQ(ask("why 12").out, "It waits.\nFor ?[2J.\n");
}

}  // namespace
}  // namespace fairlead
