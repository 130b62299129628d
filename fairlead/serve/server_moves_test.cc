// A job moves to other GPUs only if its processes can save their work.

#include "fairlead/base/rng.h"
#include "fairlead/policy/registry.h"
#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

const json kNeverMoves = {{"pinned", kPinnedAlways}};

std::string why(SimDaemon& daemon, std::size_t job) {
  return daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body;
}

TEST(Server, AJobMayMoveOnceItsProcessesHaveAHandler) {
  SimDaemon daemon("fifo");
  const std::size_t saves = daemon.submit({"work", "600000", "term=checkpoint:100"});
  const std::size_t dies = daemon.submit({"work", "600000"});
  EXPECT_EQ(daemon.job(saves)["moves"], false) << "its processes were not looked at yet";
  daemon.run_to(10);
  EXPECT_EQ(daemon.job(saves)["moves"], true);
  EXPECT_EQ(daemon.job(dies)["moves"], false);
  EXPECT_NE(why(daemon, dies).find("its processes have no handler for SIGTERM"), std::string::npos);
  EXPECT_EQ(why(daemon, saves).find("SIGTERM"), std::string::npos);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(daemon.job(saves)["moves"], true);
  EXPECT_EQ(daemon.job(dies)["moves"], false);
}

TEST(Server, AJobIsLookedAtBeforeItIsFrozen) {
  SimDaemon daemon("fifo", "1xV100,1xK80");
  const std::size_t job = daemon.submit({"work", "900000", "term=checkpoint:100"});
  daemon.run_to(2);
  EXPECT_EQ(daemon.job(job)["moves"], false) << "its processes were not looked at yet";
  const std::string path = fmt::format("/v1/jobs/{}", job);
  daemon.ask("POST", path + "/hold");
  daemon.ask("POST", "/v1/nodes/V100/cordon", {}, 0);
  daemon.ask("POST", path + "/release");
  daemon.run_to(20);
  EXPECT_EQ(daemon.job(job)["moves"], true);
  EXPECT_EQ(daemon.job(job)["state"], "running");
}

TEST(Server, AUserKnowsBetterWhetherAJobMayMove) {
  SimDaemon daemon("fifo");
  const std::size_t stays =
      daemon.submit({"work", "600000", "term=checkpoint:100"}, 1, kAnn, kNeverMoves);
  const std::size_t moves = daemon.submit({"work", "600000"}, 1, kAnn, {{"pinned", kMayMove}});
  daemon.run_to(10);
  EXPECT_EQ(daemon.job(stays)["moves"], false);
  EXPECT_EQ(daemon.job(moves)["moves"], true);
  EXPECT_NE(why(daemon, stays).find("--moves no"), std::string::npos);
}

TEST(Server, AJobWhoseHandlerSavesNothingMovesOnce) {
  SimDaemon daemon("fifo", "1xV100,1xK80");
  const std::size_t job = daemon.submit({"work", "900000", "term=forget", "every=60000"});
  daemon.run_to(100);
  EXPECT_EQ(daemon.job(job)["moves"], true);
  const std::string path = fmt::format("/v1/jobs/{}", job);
  daemon.ask("POST", path + "/hold");
  daemon.ask("POST", "/v1/nodes/V100/cordon", {}, 0);
  daemon.ask("POST", path + "/release");
  daemon.run_to(150);
  EXPECT_EQ(daemon.job(job)["restarts"], 1);
  EXPECT_EQ(daemon.job(job)["moves"], false);
  daemon.fail(Outage::kDaemon);
  daemon.run_to(170);
  EXPECT_EQ(daemon.job(job)["moves"], false);
  EXPECT_NE(why(daemon, job).find("after the last one its progress fell from 94989 to 69994 units"),
            std::string::npos)
      << why(daemon, job);
}

// The number of restarts of the jobs that save their work, and of the others.
std::pair<int, int> restarts_under(const std::string& policy, int jobs) {
  SimDaemon daemon(policy, "4xV100,4xK80@0.25");
  Rng rng(1);
  std::vector<std::size_t> saving, dying;
  for (int i = 0; i < jobs; ++i) {
    const bool saves = rng.below(2) == 0;
    const std::uint64_t ms = 20'000 + rng.below(200'000);
    const int gpus = 1 << rng.below(3);
    std::vector<std::string> command = {"work", std::to_string(ms)};
    if (saves) command.emplace_back("term=checkpoint:100");
    (saves ? saving : dying)
        .push_back(daemon.submit(command, gpus, rng.below(2) == 0 ? kAnn : kBob));
    daemon.run_to(i * 5);
  }
  daemon.run_to(50'000);
  std::pair<int, int> restarts;
  for (const std::size_t job : saving) restarts.first += daemon.job(job)["restarts"].get<int>();
  for (const std::size_t job : dying) restarts.second += daemon.job(job)["restarts"].get<int>();
  for (std::size_t job = 0; job < static_cast<std::size_t>(jobs); ++job) {
    EXPECT_EQ(daemon.state(job), "finished") << policy << " " << job;
  }
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>()) << policy;
  return restarts;
}

TEST(Server, NoPolicyMakesAJobBeginAgain) {
  int moved = 0;
  for (const PolicyEntry* entry : all_policies()) {
    const auto [saving, dying] = restarts_under(std::string(entry->name), 60);
    EXPECT_EQ(dying, 0) << entry->name;
    moved += saving;
  }
  EXPECT_GT(moved, 0);
}

TEST(Server, NoneOfTwoHundredDrawnJobsBeginsAgainUnderTheDefault) {
  const auto [saving, dying] = restarts_under(std::string(kLocalPolicy), 200);
  EXPECT_EQ(dying, 0);
  EXPECT_GT(saving, 0);
}

// Returns the mean seconds from submission to end of 200 drawn jobs under the default. Half of them or all save their
// work. `power`: hundredths of the power with which speeds follow the GPU's.
double mean_jct_s(std::uint64_t seed, int gap_s, int power, bool all_save) {
  constexpr int kJobs = 200;
  SimDaemon daemon(std::string(kLocalPolicy), "4xV100,4xK80@0.25");
  Rng rng(seed);
  for (int i = 0; i < kJobs; ++i) {
    std::vector<std::string> command = {"work", std::to_string(20'000 + rng.below(200'000)),
                                        "power=" + std::to_string(power)};
    if (rng.below(2) == 0 || all_save) command.emplace_back("term=checkpoint:100");
    const int gpus = 1 << rng.below(3);
    daemon.submit(command, gpus, rng.below(2) == 0 ? kAnn : kBob);
    daemon.run_to((i + 1) * gap_s);
  }
  daemon.run_to(100'000);
  double sum_ms = 0;
  for (std::size_t i = 0; i < kJobs; ++i) {
    const nlohmann::json job = daemon.job(i);
    sum_ms += job["finished_unix_ms"].get<double>() - job["submitted_unix_ms"].get<double>();
  }
  return sum_ms / (1000 * kJobs);
}

// The ratios at each load are properties of the test (--gtest_output=json); docs/checkpoints.md has them.
TEST(Server, JobsThatDoNotSaveTheirWorkCostTheMeanLittle) {
  constexpr int kSeeds = 5;
  for (const int power : {0, 100}) {
    const std::array<int, 3> gaps_s = {5, 60, 100};
    double sum = 0;
    for (const int gap_s : gaps_s) {
      double ratios = 0;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
        ratios += mean_jct_s(seed, gap_s, power, false) / mean_jct_s(seed, gap_s, power, true);
      RecordProperty(fmt::format("power_{}_gap_{}", power, gap_s),
                     fmt::format("{:.3f}", ratios / kSeeds));
      sum += ratios / kSeeds;
    }
    EXPECT_LE(sum / gaps_s.size(), 1.05) << "power " << power;
  }
}

}  // namespace
}  // namespace fairlead
