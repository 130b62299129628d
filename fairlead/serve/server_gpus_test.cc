// Foreign processes on GPUs, and jobs that leave their GPUs idle.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>

namespace fairlead {
namespace {

using nlohmann::json;

// A daemon that finds GPUs with a driver when it starts.
struct GpuDaemon : SimDaemon {
  template <class... Args>
  explicit GpuDaemon(std::uint32_t gpus, Args&&... args) : SimDaemon(std::forward<Args>(args)...) {
    io.machine().set_gpus(gpus);
    fail(Outage::kDaemon);
  }
};

json gpu(SimDaemon& daemon, std::size_t index) {
  return json::parse(daemon.ask("GET", "/v1/cluster").body)["nodes"][0]["gpus"][index];
}

TEST(Server, AGpuOnWhichSomethingElseComputesIsGivenToNoJob) {
  GpuDaemon daemon(2, "fifo");
  daemon.io.machine().add_foreign(1, Time{} + seconds(100));
  daemon.run_to(10);
  EXPECT_EQ(gpu(daemon, 1)["state"], "down");
  EXPECT_EQ(gpu(daemon, 1)["foreign"][0], (json{{"pid", 40001},
                                                {"name", "python"},
                                                {"user", "user9"},
                                                {"job", nullptr},
                                                {"remark", "is not a Fairlead job"}}));
  const std::size_t both = daemon.submit({"work", "1000"}, 2);
  daemon.run_to(90);
  EXPECT_EQ(daemon.state(both), "waiting");
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", both)).body;
  EXPECT_NE(why.find("GPU 1: python of user9 (pid 40001) is not a Fairlead job."),
            std::string::npos)
      << why;
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(both), "finished");
  EXPECT_EQ(gpu(daemon, 1)["state"], "idle");
}

TEST(Server, AJobThatComputesOnOtherGpusThanItsOwnTakesThemOut) {
  GpuDaemon daemon(3, "fifo", "1xV100:3");
  const std::size_t cheat = daemon.submit({"work", "600000"});
  daemon.run_to(5);
  const TaskId task = daemon.io.tasks().at(0).id;
  for (const std::uint32_t gpu : {0U, 1U})
    daemon.io.machine().add_foreign(gpu, Time{} + seconds(100), task);
  daemon.run_to(20);
  EXPECT_EQ(gpu(daemon, 0)["foreign"], json::array()) << "it has this one";
  EXPECT_EQ(gpu(daemon, 1)["foreign"][0]["job"], cheat);
  EXPECT_EQ(gpu(daemon, 1)["state"], "down");
  const std::size_t both = daemon.submit({"work", "1000"}, 2);
  daemon.run_to(90);
  EXPECT_EQ(daemon.state(both), "waiting");
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", both)).body;
  const std::string line =
      fmt::format("GPU 1: python of user9 (pid 40002) is of job {}, which has other GPUs.", cheat);
  EXPECT_NE(why.find(line), std::string::npos) << why;
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(both), "finished");
}

// The daemon learns from its journal which GPUs the task was given.
TEST(Server, AJobOfAnEarlierDaemonIsComparedWithItsGpus) {
  GpuDaemon daemon(2, "fifo");
  daemon.submit({"work", "600000"});
  daemon.run_to(5);
  const TaskId task = daemon.io.tasks().at(0).id;
  daemon.fail(Outage::kDaemon, seconds(30));
  for (const std::uint32_t gpu : {0U, 1U})
    daemon.io.machine().add_foreign(gpu, Time{} + seconds(200), task);
  daemon.run_to(60);
  EXPECT_EQ(gpu(daemon, 0)["foreign"], json::array());
  EXPECT_EQ(gpu(daemon, 1)["state"], "down");
}

TEST(Server, AForeignProcessIsEndedAfterANoticeIfTheAdministratorWantsIt) {
  GpuDaemon daemon(3, "fifo", "3xV100");
  daemon.on_foreign = OnForeign::kEnd;
  daemon.fail(Outage::kDaemon);
  daemon.io.machine().add_foreign(0, Time{} + seconds(5000));
  daemon.io.machine().add_foreign(1, Time{} + seconds(5000), {}, true);
  daemon.run_to(100);
  EXPECT_EQ(gpu(daemon, 0)["foreign"][0]["remark"],
            "is not a Fairlead job, and is ended in 3m 27s");
  daemon.run_to(300);
  EXPECT_EQ(gpu(daemon, 0)["state"], "down");
  daemon.run_to(320);
  EXPECT_EQ(gpu(daemon, 0)["state"], "idle");
  EXPECT_EQ(gpu(daemon, 1)["foreign"][0]["remark"], "is not a Fairlead job, and was asked to end");
  daemon.run_to(330);
  EXPECT_EQ(daemon.io.machine().end_requests(), 2) << "one SIGTERM for each";
  daemon.run_to(350);
  EXPECT_EQ(gpu(daemon, 1)["state"], "idle") << "SIGKILL";
}

json usage(SimDaemon& daemon) {
  return json::parse(daemon.ask("GET", "/v1/usage?last_s=100000").body)["usage"];
}

// Returns the GPU-seconds that a user took outside of its jobs.
double foreign_s(SimDaemon& daemon, std::string_view user) {
  double sum = 0;
  for (const json& use : usage(daemon)) {
    if (use["user"] == user && use["foreign"] == true) sum += use["gpu_s"].get<double>();
  }
  return sum;
}

TEST(Server, TheUserOfAForeignProcessIsChargedIfTheAdministratorWantsIt) {
  GpuDaemon daemon(2, "fifo");
  daemon.io.machine().add_foreign(1, Time{} + seconds(100));
  daemon.run_to(50);
  EXPECT_EQ(usage(daemon), json::array()) << "by default no user is";
  daemon.on_foreign = OnForeign::kCharge;
  daemon.fail(Outage::kDaemon);
  daemon.io.machine().add_foreign(1, Time{} + seconds(200));
  daemon.run_to(60);
  EXPECT_EQ(gpu(daemon, 1)["foreign"][0]["remark"],
            "is not a Fairlead job, and user9 is charged for the GPU");
  daemon.run_to(300);
  EXPECT_NEAR(foreign_s(daemon, "user9"), 150, 5) << "one GPU, whatever the number of processes";
  const json users = json::parse(daemon.ask("GET", "/v1/users").body)["users"];
  ASSERT_EQ(users.size(), 1U) << "user9 has never submitted a job";
  EXPECT_EQ(users[0]["name"], "user9");
  EXPECT_NEAR(users[0]["gpu_s"].get<double>(), 150, 5);
  const json before = usage(daemon);
  for (const Outage outage : {Outage::kDaemon, Outage::kPower}) {
    daemon.fail(outage);
    EXPECT_EQ(usage(daemon), before);
  }
}

TEST(Server, AJobsProcessOnOtherGpusIsChargedToItsUser) {
  GpuDaemon daemon(3, "fifo", "1xV100:3");
  daemon.on_foreign = OnForeign::kCharge;
  daemon.fail(Outage::kDaemon);
  const std::size_t cheat = daemon.submit({"work", "600000"});
  daemon.submit({"work", "600000"});
  daemon.run_to(5);
  TaskId task;
  for (const TaskStatus& status : daemon.io.tasks()) {
    if (status.id.job.row() == cheat) task = status.id;
  }
  // On its own GPU, on another one of its user, and on a third.
  for (const std::uint32_t gpu : {0U, 1U, 2U})
    daemon.io.machine().add_foreign(gpu, Time{} + seconds(105), task);
  daemon.run_to(50);
  EXPECT_EQ(gpu(daemon, 2)["foreign"][0]["remark"],
            fmt::format("is of job {}, which has other GPUs, and user1000 is charged for the GPU",
                        cheat));
  daemon.run_to(200);
  EXPECT_NEAR(foreign_s(daemon, "user1000"), 100, 5);
}

// Two users always want both GPUs, and bob also takes one of them outside of his jobs.
TEST(Server, WhoTakesAGpuOutsideOfJobsGainsNothing) {
  for (const char* policy :
       {"fairlead", "fairlead:resident=true", "gandiva-fair:quantum_s=60", "gang-stride", "stride",
        "slurm:priority_weight_fairshare=1000,priority_weight_age=0"}) {
    std::map<OnForeign, double> shares;
    for (const OnForeign on_foreign : {OnForeign::kNothing, OnForeign::kCharge}) {
      GpuDaemon daemon(2, policy, "1xV100:2");
      daemon.on_foreign = on_foreign;
      daemon.fail(Outage::kDaemon);
      for (int i = 0; i < 40; ++i) {
        daemon.submit({"work", "300000"}, 1, kAnn);
        daemon.submit({"work", "300000"}, 1, kBob);
      }
      daemon.io.machine().add_foreign(1, Time{} + seconds(100'000), {}, false, "user1001");
      daemon.run_to(4000);
      std::map<std::string, double> gpu_s;
      for (const json& use : usage(daemon)) {
        if (use["foreign"] == false)
          gpu_s[use["user"].get<std::string>()] += use["gpu_s"].get<double>();
      }
      shares[on_foreign] = gpu_s["user1001"] / (gpu_s["user1000"] + gpu_s["user1001"]);
    }
    EXPECT_NEAR(shares[OnForeign::kNothing], 0.5, 0.1) << policy;
    EXPECT_LT(shares[OnForeign::kCharge], 0.15) << policy;
  }
}

TEST(Server, AJobStaysWhereSomethingElseComesAndNoOtherComesAfterIt) {
  GpuDaemon daemon(1, "fifo", "1xV100");
  const std::size_t first = daemon.submit({"work", "60000"});
  const std::size_t second = daemon.submit({"work", "1000"});
  daemon.io.machine().add_foreign(0, Time{} + seconds(200));
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(first), "running");
  EXPECT_EQ(gpu(daemon, 0)["state"], "busy");
  EXPECT_EQ(gpu(daemon, 0)["foreign"].size(), 1U);
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(first), "finished");
  EXPECT_EQ(daemon.state(second), "waiting");
  EXPECT_EQ(gpu(daemon, 0)["state"], "down");
  daemon.run_to(220);
  EXPECT_EQ(daemon.state(second), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST(Server, ASuspendedJobDoesNotGoOnBesideSomethingElse) {
  GpuDaemon daemon(1, "gandiva-fair:quantum_s=30", "1xV100");
  const std::size_t ann = daemon.submit({"work", "600000"}, 1, kAnn);
  const std::size_t bob = daemon.submit({"work", "600000"}, 1, kBob);
  daemon.run_to(100);
  daemon.io.machine().add_foreign(0, Time{} + seconds(1000));
  daemon.run_to(300);
  EXPECT_EQ(daemon.alive(ann).second + daemon.alive(bob).second, 0);
  daemon.run_to(1200);
  EXPECT_EQ(daemon.alive(ann).second + daemon.alive(bob).second, 1);
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

// The start is due as soon as the daemon finds that the previous job has left.
TEST(Server, ADaemonThatBeginsLooksForOthersBeforeItStartsAJob) {
  GpuDaemon daemon(1, "fifo", "1xV100");
  const std::size_t first = daemon.submit({"work", "600000", "term=checkpoint:20000"});
  const std::size_t second = daemon.submit({"work", "1000"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", first));
  daemon.io.machine().add_foreign(0, Time{} + seconds(100));
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(second), "starting");
  daemon.fail(Outage::kDaemon, seconds(30));
  daemon.run_to(50);
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
  EXPECT_EQ(daemon.state(second), "waiting");
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(second), "finished");
}

TEST(Server, AJobThatLeavesItsGpusIdleForLongIsNamed) {
  GpuDaemon daemon(2, "fifo");
  daemon.io.machine().gpu_report().busy_percent[0] = 0;
  daemon.io.machine().gpu_report().busy_percent[1] = 1;
  const std::size_t idle = daemon.submit({"work", "6000000"});
  const std::size_t busy = daemon.submit({"work", "6000000"});
  daemon.run_to(590);
  EXPECT_EQ(daemon.job(idle)["idle_s"], nullptr);
  daemon.run_to(850);
  EXPECT_NEAR(daemon.job(idle)["idle_s"].get<double>(), 845, 10);
  EXPECT_EQ(daemon.job(busy)["idle_s"], nullptr);
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", idle)).body;
  EXPECT_NE(why.find("Its GPUs have been idle for 14 min."), std::string::npos) << why;
  daemon.io.machine().gpu_report().busy_percent[0] = 30;
  daemon.run_to(860);
  EXPECT_EQ(daemon.job(idle)["idle_s"], nullptr);
  EXPECT_EQ(daemon.state(idle), "running");
}

TEST(Server, AJobThatNothingMeasuresHasTheLoadOfItsGpusAsAWeakSign) {
  GpuDaemon daemon(2, "gandiva-fair", "1xV100,1xK80@0.25");
  GpuLook& report = daemon.io.machine().gpu_report();
  report.busy_percent = {80, 100};
  report.power_w = {210, -1};
  const std::size_t mute = daemon.submit({"work", "6000000", "mute"});
  const std::size_t measured = daemon.submit({"work", "6000000"});
  daemon.run_to(100);
  const auto load_of = [&](std::size_t job) {
    return daemon.job(job)["load"]["busy_percent"].get<double>();
  };
  EXPECT_NEAR(load_of(mute) + load_of(measured), 180, 1e-9);
  EXPECT_EQ(daemon.job(mute)["speed"], nullptr);
  const auto why = [&](std::size_t job) {
    return daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body;
  };
  EXPECT_NE(why(mute).find("a weak sign, which no policy uses"), std::string::npos) << why(mute);
  EXPECT_EQ(why(measured).find("weak sign"), std::string::npos) << why(measured);
  const nlohmann::json models = nlohmann::json::parse(daemon.ask("GET", "/v1/models").body);
  EXPECT_EQ(models["models"].size(), 1U) << models;
}

TEST(Server, AJobThatLeavesItsGpusIdleTooLongIsCancelledIfItsUserSaysSo) {
  GpuDaemon daemon(2, "fifo", "2xV100");
  daemon.io.machine().gpu_report().busy_percent = {0, 0};
  const std::size_t session = daemon.submit({"work", "6000000"}, 1, kAnn, {{"idle_end_s", 1200}});
  const std::size_t other = daemon.submit({"work", "6000000"});
  daemon.run_to(1100);
  EXPECT_EQ(daemon.state(session), "running");
  daemon.run_to(1300);
  EXPECT_EQ(daemon.state(session), "cancelled");
  EXPECT_EQ(daemon.job(session)["reason"], "its GPUs were idle for 20m");
  EXPECT_EQ(daemon.state(other), "running");
  const json short_one = {{"command", {"work"}}, {"folder", "/data"}, {"idle_end_s", 599}};
  EXPECT_EQ(daemon.ask("POST", "/v1/jobs", short_one).status, 400);
}

}  // namespace
}  // namespace fairlead
