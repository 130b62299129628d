// Priorities, turns and limits of the jobs of a user, on a machine in memory.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::uint32_t kRoot = 0;
const json kHigh = {{"priority", "high"}};
const json kLow = {{"priority", "low"}};

int limit(SimDaemon& daemon, const char* user, int gpus, std::uint32_t uid = kRoot) {
  return daemon.ask("PUT", fmt::format("/v1/users/{}", user), {{"max_gpus", gpus}}, uid).status;
}

std::uint32_t gpus_of(const SimDaemon& daemon, std::uint32_t uid) {
  const Tables& tables = daemon.server->tables();
  std::uint32_t gpus = 0;
  for (const JobId job : tables.running.members()) {
    if (tables.users.names[tables.jobs.user[job]] == fmt::format("user{}", uid))
      gpus += tables.jobs.allocated_gpus[job];
  }
  return gpus;
}

TEST(Priority, AHighJobGoesFirstAndItsUsersLowJobsContinueAfterIt) {
  for (const char* policy : {"fifo", "gandiva-fair:quantum_s=60", "fairlead:resident=true"}) {
    SimDaemon daemon(policy, "2xV100");
    const std::size_t low = daemon.submit({"work", "100000"}, 1, kAnn, kLow);
    const std::size_t usual = daemon.submit({"work", "100000"});
    daemon.run_to(10);
    EXPECT_EQ(daemon.state(low), "running") << policy;
    const std::size_t high = daemon.submit({"work", "20000"}, 1, kAnn, kHigh);
    daemon.run_to(12);
    EXPECT_EQ(daemon.state(high), "running") << policy;
    daemon.run_to(400);
    for (const std::size_t job : {low, usual, high}) EXPECT_EQ(daemon.state(job), "finished");
  }
}

TEST(Priority, WhyAndPsNameTheJobAlsoAfterARestart) {
  SimDaemon daemon("fifo", "2xV100");
  daemon.submit({"work", "100000"}, 1, kBob);
  const std::size_t low = daemon.submit({"work", "10000"}, 1, kAnn, kLow);
  daemon.run_to(5);
  const std::size_t gang = daemon.submit({"work", "10000"}, 2, kAnn);
  daemon.run_to(6);
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(daemon.state(low), "held");
    EXPECT_EQ(daemon.job(low)["reason"],
              fmt::format("after job {}, which has a higher priority", gang));
    EXPECT_EQ(daemon.job(low)["priority"], "low");
    EXPECT_NE(daemon.why(low).find("it starts after job 2, which has a higher priority."),
              std::string::npos)
        << daemon.why(low);
    EXPECT_EQ(daemon.act(low, "release"), 409);
    daemon.fail(Outage::kPower);
  }
  daemon.run_to(400);
  EXPECT_EQ(daemon.state(gang), "finished");
  EXPECT_EQ(daemon.state(low), "finished");
}

TEST(Priority, AWideGangIsNotStarvedByItsUsersSmallJobs) {
  SimDaemon daemon("fairlead:resident=true", "4xV100");
  for (int i = 0; i < 12; ++i) daemon.submit({"work", "100000"}, 1, kAnn, kLow);
  daemon.run_to(10);
  const std::size_t gang = daemon.submit({"work", "50000"}, 4, kAnn, kHigh);
  daemon.run_to(70);
  EXPECT_EQ(daemon.state(gang), "finished");
}

// Each user has jobs of 1, 1, 2 and 3 GPUs, and is due 2 of 4. Returns the longest time in seconds in which one of them
// did not run.
int longest_wait_s(std::string policy) {
  SimDaemon daemon(std::move(policy), "4xV100");
  std::map<std::size_t, int> last_ran_s;
  for (std::uint32_t user : {kAnn, kBob})
    for (int gpus : {1, 1, 2, 3}) last_ran_s[daemon.submit({"work", "90000000"}, gpus, user)] = 0;
  int longest = 0;
  for (int s = 10; s <= 4 * 3600; s += 10) {
    daemon.run_to(s);
    for (auto& [job, last] : last_ran_s) {
      if (daemon.state(job) == "running") last = s;
      longest = std::max(longest, s - last);
    }
  }
  return longest;
}

TEST(Turns, NoJobWaitsForMuchMoreThanAnHourWhileItsUsersOthersRun) {
  EXPECT_GT(longest_wait_s("fairlead:resident=true,patience_s=60"), 2 * 3600);
  EXPECT_LT(longest_wait_s(std::string(kLocalPolicy)), 3600 + 600);
}

TEST(Turns, WhyReportsWhenAWaitingJobComesFirst) {
  SimDaemon daemon(std::string(kLocalPolicy), "2xV100");
  for (int i = 0; i < 2; ++i) daemon.submit({"work", "90000000"});
  const std::size_t gang = daemon.submit({"work", "90000000"}, 2);
  daemon.run_to(10);
  EXPECT_NE(daemon.why(gang).find("comes first after 1h without GPUs."), std::string::npos)
      << daemon.why(gang);
}

TEST(Priority, LowJobsTakeIdleGpusBesideAHighJob) {
  SimDaemon daemon("fairlead:resident=true", "4xV100");
  const std::size_t high = daemon.submit({"work", "100000"}, 2, kAnn, kHigh);
  std::vector<std::size_t> low;
  for (int i = 0; i < 3; ++i) low.push_back(daemon.submit({"work", "30000"}, 1, kAnn, kLow));
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(high), "running");
  EXPECT_EQ(daemon.state(low[1]), "running");
  EXPECT_EQ(daemon.state(low[2]), "held");
  daemon.run_to(90);
  EXPECT_EQ(daemon.state(low[2]), "finished");
  EXPECT_EQ(daemon.state(high), "running");
}

TEST(Priority, JobsSeldomLeaveGpusAgainIfOtherUsersWantThem) {
  for (const char* policy : {"gandiva-fair:quantum_s=60,resident=true", "fairlead:resident=true"}) {
    SimDaemon daemon(policy, "4xV100");
    const std::size_t high = daemon.submit({"work", "1200000"}, 1, kAnn, kHigh);
    for (int i = 0; i < 4; ++i) daemon.submit({"work", "9000000"}, 1, kAnn, kLow);
    for (int i = 0; i < 4; ++i) daemon.submit({"work", "9000000"}, 1, kBob);
    daemon.run_to(2400);
    // Each turn of a policy has some records.
    EXPECT_LT(daemon.server->records(), 500U) << policy;
    EXPECT_EQ(daemon.state(high), "finished") << policy;
  }
}

TEST(Priority, OtherUsersAreNotConcerned) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t bobs = daemon.submit({"work", "10000"}, 1, kBob, kLow);
  const std::size_t anns = daemon.submit({"work", "10000"}, 1, kAnn, kHigh);
  daemon.run_to(5);
  EXPECT_EQ(daemon.state(bobs), "running");
  EXPECT_EQ(daemon.state(anns), "waiting");
}

TEST(Priority, AnUrgentJobGoesBeforeTheJobsOfAllUsers) {
  const json urgent = {{"priority", "urgent"}};
  for (const char* policy : {"fifo", "gandiva-fair:quantum_s=60", "fairlead:resident=true"}) {
    SimDaemon daemon(policy, "2xV100");
    std::vector<std::size_t> bobs;
    for (int i = 0; i < 4; ++i) bobs.push_back(daemon.submit({"work", "40000"}, 1, kBob, kHigh));
    daemon.run_to(10);
    const std::size_t job = daemon.submit({"work", "100000"}, 2, kRoot, urgent);
    daemon.run_to(12);
    EXPECT_EQ(daemon.state(job), "running") << policy;
    EXPECT_EQ(daemon.job(job)["priority"], "urgent");
    for (int life = 0; life < 2; ++life) {
      EXPECT_EQ(daemon.state(bobs[3]), "held");
      EXPECT_NE(daemon.why(bobs[3]).find(fmt::format("after job {}, which is urgent", job)),
                std::string::npos)
          << daemon.why(bobs[3]);
      daemon.fail(Outage::kPower);
    }
    daemon.run_to(400);
    for (const std::size_t one : bobs) EXPECT_EQ(daemon.state(one), "finished") << policy;
    EXPECT_EQ(daemon.state(job), "finished") << policy;
  }
}

TEST(Priority, JobsThatWaitForAnUrgentOneCanBeCancelled) {
  SimDaemon daemon("fifo", "1xV100");
  daemon.submit({"work", "100000"}, 1, kRoot, {{"priority", "urgent"}});
  daemon.run_to(5);
  const std::size_t job = daemon.submit({"work", "10000"});
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(job), "held");
  EXPECT_EQ(daemon.act(job, "cancel"), 200);
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(job), "cancelled");
  daemon.run_to(150);
}

TEST(Priority, OnlyAdministratorsSubmitUrgentJobs) {
  SimDaemon daemon("fifo", "1xV100");
  const json asked = {{"command", {"work", "1"}}, {"folder", "/data"}, {"priority", "urgent"}};
  const HttpMessage answer = daemon.ask("POST", "/v1/jobs", asked, kAnn);
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("only administrators may submit urgent jobs"), std::string::npos);
}

int set_priority(SimDaemon& daemon, std::size_t job, const json& priority,
                 std::uint32_t uid = kAnn) {
  return daemon.ask("POST", fmt::format("/v1/jobs/{}/priority", job), {{"priority", priority}}, uid)
      .status;
}

TEST(Priority, OfASubmittedJobChanges) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t first = daemon.submit({"work", "20000"}, 1, kAnn, kHigh);
  const std::size_t second = daemon.submit({"work", "20000"}, 1, kAnn, kLow);
  daemon.run_to(5);
  EXPECT_EQ(daemon.state(first), "running");
  EXPECT_EQ(set_priority(daemon, first, "low"), 200);
  EXPECT_EQ(set_priority(daemon, second, "high"), 200);
  daemon.run_to(8);
  EXPECT_EQ(daemon.state(first), "held");
  EXPECT_EQ(daemon.state(second), "running");
  for (const Outage outage : {Outage::kDaemon, Outage::kPower}) {
    daemon.fail(outage);
    EXPECT_EQ(daemon.job(first)["priority"], "low");
    EXPECT_EQ(daemon.job(second)["priority"], "high");
    EXPECT_NE(daemon.why(first).find("after job 1, which has a higher priority"), std::string::npos)
        << daemon.why(first);
  }
  // Without other priorities, the first job waits for its turn again.
  EXPECT_EQ(set_priority(daemon, second, "low"), 200);
  daemon.run_to(25);
  EXPECT_NE(daemon.state(first), "held");
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(first), "finished");
  EXPECT_EQ(daemon.state(second), "finished");
}

TEST(Priority, IsChangedByTheJobsUserAndMadeUrgentByAdministrators) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t bobs = daemon.submit({"work", "100000"}, 1, kBob);
  const std::size_t anns = daemon.submit({"work", "10000"}, 1, kAnn);
  daemon.run_to(5);
  EXPECT_EQ(set_priority(daemon, anns, "high", kBob), 403);
  EXPECT_EQ(set_priority(daemon, anns, "urgent"), 403);
  EXPECT_EQ(set_priority(daemon, anns, "highest"), 400);
  EXPECT_EQ(set_priority(daemon, anns, 1), 400);
  EXPECT_EQ(set_priority(daemon, 7, "high"), 404);
  EXPECT_EQ(daemon.job(anns)["priority"], "normal");
  EXPECT_EQ(set_priority(daemon, anns, "urgent", kRoot), 200);
  daemon.run_to(8);
  EXPECT_EQ(daemon.state(anns), "running");
  EXPECT_EQ(daemon.state(bobs), "held");
  EXPECT_EQ(set_priority(daemon, anns, "normal"), 200);
  daemon.run_to(30);
  EXPECT_NE(daemon.state(bobs), "held");
  EXPECT_EQ(daemon.act(anns, "cancel"), daemon.state(anns) == "finished" ? 409 : 200);
  daemon.run_to(200);
  EXPECT_EQ(daemon.state(bobs), "finished");
  EXPECT_EQ(set_priority(daemon, bobs, "high", kBob), 409);
}

TEST(Priority, OtherJobsTakeIdleGpusBesideAnUrgentOne) {
  SimDaemon daemon("fairlead:resident=true", "4xV100");
  const std::size_t job = daemon.submit({"work", "100000"}, 2, kRoot, {{"priority", "urgent"}});
  const std::size_t small = daemon.submit({"work", "30000"}, 1, kAnn);
  const std::size_t wide = daemon.submit({"work", "30000"}, 4, kBob);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(job), "running");
  EXPECT_EQ(daemon.state(small), "running");
  EXPECT_EQ(daemon.state(wide), "held");
  daemon.run_to(200);
  EXPECT_EQ(daemon.state(wide), "finished");
}

TEST(Priority, AHoldIsTheUsersWhateverTheOrderIs) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t high = daemon.submit({"work", "20000"}, 1, kAnn, kHigh);
  const std::size_t wide = daemon.submit({"work", "20000"}, 1, kAnn, kHigh);
  const std::size_t low = daemon.submit({"work", "20000"}, 1, kAnn, kLow);
  EXPECT_EQ(daemon.state(low), "held");
  EXPECT_EQ(daemon.act(low, "hold"), 200);
  EXPECT_EQ(daemon.act(wide, "hold"), 200);
  daemon.fail(Outage::kPower);
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(high), "finished");
  EXPECT_EQ(daemon.state(low), "held");
  EXPECT_NE(daemon.why(low).find("its user holds it"), std::string::npos) << daemon.why(low);
  EXPECT_EQ(daemon.act(low, "release"), 200);
  daemon.run_to(62);
  EXPECT_EQ(daemon.state(low), "running");
  EXPECT_EQ(daemon.act(wide, "release"), 200);
  daemon.run_to(64);
  EXPECT_EQ(daemon.state(wide), "running");
  EXPECT_EQ(daemon.state(low), "held");
}

TEST(Priority, AHoldOfAnOlderDaemonStaysTheUsers) {
  SimDaemon daemon("fifo", "2xV100");
  const std::size_t held = daemon.submit({"work", "10000"});
  EXPECT_EQ(daemon.act(held, "hold"), 200);
  json file = json::parse(daemon.io.read("jobs/0").value());
  file.erase("priority");  // the file and the journal of an older daemon
  file["is_held"] = false;
  ASSERT_TRUE(daemon.io.write("jobs/0", file.dump()));
  for (int life = 0; life < 2; ++life) {
    daemon.fail(Outage::kPower);
    daemon.run_to(30 + 30 * life);
    EXPECT_EQ(daemon.state(held), "held");
  }
  EXPECT_EQ(daemon.act(held, "release"), 200);
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(held), "finished");
}

TEST(MaxGpus, AUserNeverHasMoreGpusAtOnceAndWhyNamesTheLimit) {
  SimDaemon daemon("fairlead:resident=true", "4xV100");
  EXPECT_EQ(limit(daemon, "user1000", 2, kAnn), 403);
  EXPECT_EQ(limit(daemon, "user1000", 2), 200);
  std::vector<std::size_t> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(daemon.submit({"work", "20000"}));
  const std::size_t bobs = daemon.submit({"work", "20000"}, 2, kBob);
  const std::size_t wide = daemon.submit({"work", "1000"}, 3);
  for (int s = 1; s < 100; s += 3) {
    if (s == 10) daemon.fail(Outage::kPower);
    daemon.run_to(s);
    EXPECT_LE(gpus_of(daemon, kAnn), 2U) << s;
    if (s == 4) {
      EXPECT_EQ(daemon.job(jobs[3])["reason"],
                "when other jobs of user1000 leave room in the limit of 2 GPUs");
      EXPECT_EQ(daemon.state(bobs), "running");
    }
  }
  for (const std::size_t job : jobs) EXPECT_EQ(daemon.state(job), "finished");
  EXPECT_NE(
      daemon.why(wide).find("it starts when user1000 may have 3 GPUs at once; the limit is 2."),
      std::string::npos)
      << daemon.why(wide);
  const json users = json::parse(daemon.ask("GET", "/v1/users").body)["users"];
  EXPECT_EQ(users[0]["max_gpus"], 2);
  EXPECT_EQ(users[1]["max_gpus"], nullptr);
  EXPECT_EQ(limit(daemon, "user1000", 0), 200);
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(wide), "finished");
}

TEST(Priority, AJobThatIsOverAndStillEndsHasNoCondition) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t job = daemon.submit({"work", "100000", "term=ignore"}, 1, kAnn, kHigh);
  daemon.run_to(5);
  EXPECT_EQ(daemon.act(job, "cancel"), 200);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(daemon.state(job), "cancelled");
  EXPECT_NE(daemon.why(job).find("its processes are still ending"), std::string::npos)
      << daemon.why(job);
}

TEST(MaxGpus, ALowerLimitTakesGpusAtOnce) {
  SimDaemon daemon("fifo", "4xV100");
  for (int i = 0; i < 4; ++i) daemon.submit({"work", "100000"});
  daemon.run_to(5);
  EXPECT_EQ(gpus_of(daemon, kAnn), 4U);
  EXPECT_EQ(limit(daemon, "user1000", 1), 200);
  EXPECT_EQ(gpus_of(daemon, kAnn), 1U);
  EXPECT_EQ(daemon.ask("PUT", "/v1/users/user1000", {{"max_gpus", -1}}, kRoot).status, 400);
  EXPECT_EQ(daemon.ask("PUT", "/v1/users/user1000", json::object(), kRoot).status, 400);
}

TEST(MaxGpus, TheUsersOfAGroupHaveTheLimitOfTheGroupTogether) {
  for (const char* policy : {"fifo", "gandiva-fair:quantum_s=10", "fairlead:resident=true"}) {
    SimDaemon daemon(policy, "4xV100");
    for (const std::uint32_t uid : {kAnn, kBob}) daemon.io.machine().add_to_group(uid, "lab");
    const auto put = [&](int gpus, std::uint32_t uid = kRoot) {
      return daemon.ask("PUT", "/v1/groups/lab", {{"max_gpus", gpus}}, uid).status;
    };
    EXPECT_EQ(put(3, kAnn), 403);
    EXPECT_EQ(put(3), 200);
    std::vector<std::size_t> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(daemon.submit({"work", "20000"}));
    for (int i = 0; i < 2; ++i) jobs.push_back(daemon.submit({"work", "20000"}, 1, kBob));
    const std::size_t others = daemon.submit({"work", "20000"}, 1, kBob + 1);
    for (int s = 1; s < 100; s += 3) {
      if (s == 10) daemon.fail(Outage::kPower);
      daemon.run_to(s);
      EXPECT_LE(gpus_of(daemon, kAnn) + gpus_of(daemon, kBob), 3U) << policy << " at " << s;
      if (s != 4) continue;
      EXPECT_EQ(daemon.state(others), "running") << policy;
      EXPECT_EQ(daemon.job(jobs.back())["reason"],
                "when other jobs of the group lab leave room in the limit of 3 GPUs");
      EXPECT_EQ(json::parse(daemon.ask("GET", "/v1/users").body)["groups"],
                json::parse(R"([{"name": "lab", "max_gpus": 3, "held_gpus": 3,
                                 "users": ["user1000", "user1001"]}])"));
    }
    for (const std::size_t job : jobs) EXPECT_EQ(daemon.state(job), "finished") << policy;
  }
}

TEST(MaxGpus, ALowerLimitOfAGroupTakesGpusAndItsEndGivesThem) {
  SimDaemon daemon("fifo", "4xV100");
  for (const std::uint32_t uid : {kAnn, kBob}) daemon.io.machine().add_to_group(uid, "lab");
  for (int i = 0; i < 4; ++i) daemon.submit({"work", "100000"}, 1, i % 2 == 0 ? kAnn : kBob);
  const std::size_t wide = daemon.submit({"work", "1000"}, 3, kAnn);
  daemon.run_to(5);
  const auto put = [&](const json& body) {
    return daemon.ask("PUT", "/v1/groups/lab", body, kRoot).status;
  };
  EXPECT_EQ(put({{"max_gpus", 2}}), 200);
  EXPECT_EQ(gpus_of(daemon, kAnn), 1U);
  EXPECT_EQ(gpus_of(daemon, kBob), 1U);
  EXPECT_NE(daemon.why(wide).find("when the group lab may have 3 GPUs at once; the limit is 2."),
            std::string::npos)
      << daemon.why(wide);
  EXPECT_EQ(put({{"max_gpus", 0}}), 200);
  daemon.run_to(300);
  EXPECT_EQ(daemon.state(wide), "finished");
  EXPECT_EQ(put({{"max_gpus", -1}}), 400);
  EXPECT_EQ(put(json::object()), 400);
}

TEST(MaxGpus, AJobInALimitedGroupStartsAsOneOfAnotherUserEnds) {
  SimDaemon daemon("fifo", "4xV100");
  for (const std::uint32_t uid : {kAnn, kBob}) daemon.io.machine().add_to_group(uid, "lab");
  EXPECT_EQ(daemon.ask("PUT", "/v1/groups/lab", {{"max_gpus", 1}}, kRoot).status, 200);
  const std::size_t anns = daemon.submit({"work", "5000"});
  const std::size_t bobs = daemon.submit({"work", "5000"}, 1, kBob);
  daemon.run_to(3);
  EXPECT_EQ(daemon.state(bobs), "held");
  daemon.await(anns);
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(bobs), "finished");
}

TEST(MaxGpus, AJobAfterOneOfAnotherUserCountsOnceThatHasEnded) {
  for (const char* what : {"/v1/users/user1000", "/v1/groups/lab"}) {
    SimDaemon daemon("fifo", "4xV100");
    daemon.io.machine().add_to_group(kAnn, "lab");
    EXPECT_EQ(daemon.ask("PUT", what, {{"max_gpus", 1}}, kRoot).status, 200);
    const std::size_t bobs = daemon.submit({"work", "5000"}, 1, kBob);
    const std::size_t wide = daemon.submit({"work", "5000"}, 2, kAnn, {{"after", {bobs}}});
    const Time end = Time{} + seconds(10);
    daemon.io.network().hang_up(daemon.io.network().connect({}),
                                end - daemon.io.time());  // an event then
    while (daemon.io.time() < end) {
      ASSERT_TRUE(daemon.server->step().value_or(false));
      EXPECT_NE(daemon.server->tables().jobs.state[JobId(wide)], JobState::kRunning) << what;
    }
    EXPECT_EQ(daemon.state(bobs), "finished");
    EXPECT_EQ(daemon.state(wide), "held") << what;
  }
}

TEST(MaxGpus, UsersAreListedBesideTheFirstJobOfAMemberOfALimitedGroup) {
  SimDaemon daemon("fifo", "4xV100");
  for (const std::uint32_t uid : {kAnn, kBob}) daemon.io.machine().add_to_group(uid, "lab");
  EXPECT_EQ(daemon.ask("PUT", "/v1/groups/lab", {{"max_gpus", 1}}, kRoot).status, 200);
  daemon.submit({"work", "5000"});
  const json job = {{"command", {"work", "5000"}}, {"folder", "/data"}, {"gpus", 1}};
  const ConnectionId bobs = daemon.io.network().connect({.uid = kBob, .gid = kBob});
  daemon.io.network().send(bobs, http_request("POST", "/v1/jobs", job.dump()), {});
  daemon.ask("GET", "/v1/users");  // answered while bob's job is in the next batch
  EXPECT_EQ(json::parse(daemon.ask("GET", "/v1/users").body)["groups"][0]["users"],
            json({"user1000", "user1001"}));
}

TEST(MaxGpus, TheCopiesOfAJobCountTogether) {
  SimDaemon daemon("hadare", "1xV100,1xK80,1xT4");
  EXPECT_EQ(limit(daemon, "user1000", 2), 200);
  const std::size_t all = daemon.submit({"work", "1000"}, 1, kAnn, {{"copies_max", 0}});
  const std::size_t two = daemon.submit({"work", "1000"}, 1, kAnn, {{"copies_max", 2}});
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(all), "held");
  EXPECT_EQ(daemon.state(two), "finished");
}

}  // namespace
}  // namespace fairlead
