// Jobs that start after others, and the tasks of arrays, on a machine in memory.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

TEST(After, AJobStartsWhenTheOthersHaveEndedInAnyWay) {
  SimDaemon daemon("fifo", "4xV100");
  const std::size_t good = daemon.submit({"work", "10000"});
  const std::size_t bad = daemon.submit({"work", "30000", "exit=3"});
  const std::size_t next = daemon.submit({"work", "1000"}, 1, kAnn, {{"after", {bad, good}}});
  EXPECT_EQ(daemon.job(next)["reason"], "after jobs 0 to 1");
  EXPECT_NE(daemon.why(next).find("It waits for 1 GPU, for 0s: it starts after jobs 0 to 1."),
            std::string::npos)
      << daemon.why(next);
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(next), "held");
  EXPECT_EQ(daemon.job(next)["reason"], "after jobs 0 to 1");
  daemon.run_to(40);
  EXPECT_EQ(daemon.state(next), "finished");
}

TEST(After, AJobThatNeedsAGoodEndIsCancelledWithTheReasonAlsoAfterARestart) {
  SimDaemon daemon("fifo", "4xV100");
  const std::size_t good = daemon.submit({"work", "10000"});
  const std::size_t bad = daemon.submit({"work", "20000", "exit=3"});
  const std::size_t first = daemon.submit({"work", "1000"}, 1, kAnn, {{"after_ok", {good}}});
  const std::size_t never = daemon.submit({"work", "1000"}, 1, kAnn, {{"after_ok", {good, bad}}});
  const std::size_t last = daemon.submit({"work", "1000"}, 1, kAnn, {{"after_ok", {never}}});
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(first), "finished");
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(daemon.state(never), "cancelled");
    EXPECT_EQ(daemon.job(never)["reason"], "job 1 had to end well first, but is failed");
    EXPECT_EQ(daemon.job(last)["reason"], "job 3 had to end well first, but is cancelled");
    daemon.fail(Outage::kPower);
  }
  EXPECT_TRUE(daemon.io.list("jobs").empty());
}

TEST(After, AJobThatHasEndedIsNotWaitedFor) {
  SimDaemon daemon("fifo");
  const std::size_t done = daemon.submit({"work", "1000"});
  daemon.run_to(10);
  const std::size_t next = daemon.submit({"work", "1000"}, 1, kAnn, {{"after_ok", {done}}});
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(next), "finished");
  const json unknown = {{"command", {"work"}}, {"folder", "/data"}, {"after", {99}}};
  const HttpMessage refused = daemon.ask("POST", "/v1/jobs", unknown);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"], "no such job to start after: 99");
}

TEST(After, WaitingIsKeptOverAPowerCutAndTheOthersMayEndMeanwhile) {
  SimDaemon daemon("fifo", "4xV100");
  const std::size_t first = daemon.submit({"work", "10000"});
  const std::size_t second = daemon.submit({"work", "100000"});
  const std::size_t after_first = daemon.submit({"work", "1000"}, 1, kAnn, {{"after", {first}}});
  const std::size_t after_second = daemon.submit({"work", "1000"}, 1, kAnn, {{"after", {second}}});
  daemon.fail(Outage::kDaemon, seconds(30));
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(after_first), "finished");
  daemon.fail(Outage::kPower);
  EXPECT_EQ(daemon.state(after_second), "held");
  daemon.run_to(400);
  EXPECT_EQ(daemon.state(after_second), "finished");
}

TEST(After, AHoldAndTheWaitForOthersAreIndependent) {
  SimDaemon daemon("fifo", "4xV100");
  const std::size_t first = daemon.submit({"work", "10000"});
  const std::size_t next = daemon.submit({"work", "100000"}, 1, kAnn, {{"after", {first}}});
  EXPECT_EQ(daemon.act(next, "release"), 409);
  EXPECT_EQ(daemon.act(next, "hold"), 200);
  daemon.run_to(20);
  daemon.fail(Outage::kPower);
  EXPECT_EQ(daemon.state(next), "held");
  EXPECT_NE(daemon.why(next).find("its user holds it"), std::string::npos) << daemon.why(next);
  EXPECT_EQ(daemon.act(next, "release"), 200);
  daemon.run_to(40);
  EXPECT_EQ(daemon.state(next), "running");
  // Its conditions are gone: this hold ends by a release alone.
  EXPECT_EQ(daemon.act(next, "hold"), 200);
  daemon.fail(Outage::kDaemon);
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(next), "held");
}

TEST(Tasks, AnArrayIsSubmittedAsAWholeAndRunsSoManyAtOnce) {
  SimDaemon daemon("fifo", "8xV100");
  json tasks = json::array();
  for (int index = 1; index <= 6; ++index)
    tasks.push_back({{"array_index", index}, {"name", fmt::format("t[{}]", index)}});
  const json request = {{"command", {"work", "10000"}},
                        {"environment", {"A=b", "FAIRLEAD_ARRAY_INDEX=9"}},
                        {"folder", "/data"},
                        {"tasks", tasks},
                        {"at_once", 2}};
  const HttpMessage answer = daemon.ask("POST", "/v1/jobs", request);
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(json::parse(answer.body), (json{{"id", 0}, {"last", 5}}));
  EXPECT_EQ(daemon.job(4)["name"], "t[5]");
  const std::string kept = daemon.io.read("jobs/4").value();
  EXPECT_NE(kept.find(R"(["A=b","FAIRLEAD_ARRAY_INDEX=5"])"), std::string::npos) << kept;
  const auto running = [&] { return daemon.server->tables().running.members().size(); };
  for (int s = 1; s < 30; s += 3) {
    daemon.run_to(s);
    EXPECT_EQ(running(), 2U) << s;
    if (s == 10) daemon.fail(Outage::kPower);
  }
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(5), "finished");
}

TEST(Tasks, OnePartOfATaskThatIsWrongRefusesAll) {
  SimDaemon daemon("fifo");
  json request = {{"command", {"work", "10000"}}, {"folder", "/data"}};
  for (const json& tasks : {json::array(), json{1}, json{{{"gpus", 2}}},
                            json{{{"name", "good"}}, {{"array_index", -1}}}, json(5)}) {
    request["tasks"] = tasks;
    EXPECT_EQ(daemon.ask("POST", "/v1/jobs", request).status, 400) << tasks;
  }
  EXPECT_EQ(daemon.server->tables().jobs.size(), 0U);
  EXPECT_TRUE(daemon.io.list("jobs").empty());
}

}  // namespace
}  // namespace fairlead
