// Reports to users: failed starts, retries, moves, losses and ends, each when it happens and by its own name.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

class Report : public testing::Test {
 protected:
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
  static std::string why(SimDaemon& daemon, std::size_t job, const char* query = "") {
    return daemon.ask("GET", fmt::format("/v1/jobs/{}/why{}", job, query)).body;
  }
};

TEST_F(Report, ACommandThatCannotRunFailsAtOnce) {
  SimDaemon daemon;
  for (int i = 0; i < 5; ++i) {
    const std::size_t bad = daemon.submit({"work", "10", "nostart=9"});
    daemon.run_to(1 + i);
    EXPECT_EQ(daemon.state(bad), "failed");
    EXPECT_EQ(daemon.job(bad)["exit_code"], 127);
    EXPECT_EQ(daemon.job(bad)["reason"],
              "exit code 127: cannot run work: No such file or directory");
  }
  const std::size_t good = daemon.submit({"work", "100000"}, 2, kBob);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(good), "running");
}

TEST_F(Report, ACommandThatCannotRunIsTriedAgainAsItsRetriesAllow) {
  SimDaemon daemon;
  const json twice = {{"retries", 2}};
  const std::size_t good =
      daemon.submit({"work", "5000", "nostart=2", "retries=2"}, 1, kAnn, twice);
  const std::size_t bad = daemon.submit({"work", "5000", "nostart=3", "retries=2"}, 1, kAnn, twice);
  daemon.run_to(2);
  EXPECT_EQ(daemon.state(good), "running");
  EXPECT_EQ(daemon.state(bad), "failed");
  EXPECT_TRUE(has(why(daemon, good), "It has ended badly 2 times, and was started again"));
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(good), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST_F(Report, ARetryIsNoMove) {
  SimDaemon daemon("fifo");
  const std::size_t job =
      daemon.submit({"work", "60000", "exit=1", "times=1", "retries=1", "every=100000"}, 1, kAnn,
                    {{"retries", 1}});
  daemon.run_to(70);
  EXPECT_TRUE(has(why(daemon, job), "It has ended badly 1 time, and was started again"));
  EXPECT_FALSE(has(why(daemon, job), "moved"));
  EXPECT_FALSE(has(why(daemon, job), "lost"));
}

TEST_F(Report, ALossWithTheMachineIsNoMove) {
  SimDaemon daemon("fifo");
  const std::size_t job = daemon.submit({"work", "600000"});
  daemon.run_to(10);
  daemon.fail(Outage::kPower);
  daemon.run_to(20);
  EXPECT_TRUE(has(why(daemon, job), "Its processes were lost 1 time, with the machine or a GPU"))
      << why(daemon, job);
  EXPECT_FALSE(has(why(daemon, job), "moved"));
}

TEST_F(Report, AJobIsOverForItsClientOnceItsProcessesHaveEnded) {
  SimDaemon daemon("fifo");
  const std::size_t job = daemon.submit({"work", "600000", "term=checkpoint:20000"});
  daemon.run_to(10);
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", job));
  EXPECT_TRUE(has(why(daemon, job), "It is done: cancelled; its processes are still ending."))
      << why(daemon, job);
  const json end = json::parse(daemon.ask("GET", fmt::format("/v1/jobs/{}/end", job)).body);
  EXPECT_EQ(end["state"], "cancelled");
  EXPECT_GE(daemon.io.time(), Time{} + seconds(30));
  EXPECT_TRUE(has(why(daemon, job), "It is done: cancelled."));
}

TEST_F(Report, NotesOfThePolicyAreForThoseWhoAsk) {
  SimDaemon daemon("fairlead:resident=true,notes=true", "1xV100");
  daemon.submit({"work", "6000000"}, 1, kAnn);
  const std::size_t job = daemon.submit({"work", "6000000"}, 1, kAnn);
  daemon.run_to(200);
  EXPECT_FALSE(has(why(daemon, job), " notes: ")) << why(daemon, job);
  EXPECT_TRUE(has(why(daemon, job, "?verbose=1"), "fairlead notes: "));
}

TEST_F(Report, LogsAreKeptForSoLongAfterTheEnd) {
  SimDaemon daemon("fifo", "4xV100");
  const auto logs = [&] { return daemon.io.list("logs"); };
  using Names = std::vector<std::string>;
  daemon.submit({"work", "1000"});
  daemon.submit({"work", "50000"});
  daemon.submit({"work", "9000000"});
  for (const char* name : {"logs/0.log", "logs/1.log", "logs/2.log"})
    ASSERT_TRUE(daemon.io.write(name, "text"));
  daemon.keep = seconds(100);
  daemon.fail(Outage::kPower);
  daemon.run_to(90);
  EXPECT_EQ(logs(), (Names{"0.log", "1.log", "2.log"}));
  daemon.run_to(110);
  EXPECT_EQ(logs(), (Names{"1.log", "2.log"}));
  daemon.fail(Outage::kDaemon, seconds(60));
  daemon.run_to(300);
  EXPECT_EQ(logs(), (Names{"2.log"}));
}

}  // namespace
}  // namespace fairlead
