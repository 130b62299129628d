// Measured speeds of jobs that report nothing: users trade by them, and the next run of a model knows them.

#include "fairlead/engine/recovery.h"
#include "fairlead/journal/blocks.h"
#include "fairlead/journal/journal.h"
#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace fairlead {
namespace {

using nlohmann::json;

using Command = std::vector<std::string>;

const json kNone = json::object();
// On a K80 of a quarter of the speed, the models of three users run 4, 2.8 and 1.1 times slower.
const std::map<std::uint32_t, int> kPowers = {{1000, 100}, {1001, 75}, {1002, 10}};

Command long_work(int power, bool is_silent) {
  Command words = {"work", "100000000", "every=1", "term=checkpoint:100",
                   fmt::format("power={}", power)};
  if (is_silent) words.emplace_back("silent");
  return words;
}

struct Trading {
  std::map<std::uint32_t, double> work_s;  // work done for each user
  int trades = 0;
};

// Lets three users with eight jobs each run for an hour.
Trading trading(bool trade, bool is_silent) {
  SimDaemon daemon(fmt::format("gandiva-fair:quantum_s=60,resident=true,trade={}", trade),
                   "6xV100,12xK80@0.25");
  for (int i = 0; i < 8; ++i) {
    for (const auto& [uid, power] : kPowers) {
      daemon.submit(long_work(power, is_silent), 1, uid, {{"model", fmt::format("m{}", power)}});
    }
  }
  daemon.run_to(3600);
  Trading result;
  for (const auto& [id, task] : daemon.io.processes().all()) {
    if (!task.is_alive()) continue;
    const Duration since = task.is_thawed() ? daemon.io.time() - task.began : Duration{};
    result.work_s[task.uid] += to_seconds(task.done) + to_seconds(since) * task.speed;
  }
  RecordedRun run;
  EXPECT_TRUE(
      read_journal(BlockReader::read(daemon.io.stream("journal.flj").value()).value(), run));
  for (const Record& record : run.records()) {
    const auto* note = std::get_if<Note>(&record.what);
    result.trades += note != nullptr && std::holds_alternative<note::Trade>(*note) ? 1 : 0;
  }
  return result;
}

TEST(ServerSpeeds, SilentJobsTradeLikeJobsThatReport) {
  std::map<bool, std::map<std::uint32_t, double>> gains;
  for (const bool is_silent : {false, true}) {
    const Trading without = trading(false, is_silent);
    const Trading with = trading(true, is_silent);
    EXPECT_EQ(without.trades, 0);
    EXPECT_GE(with.trades, 3);
    for (const auto& [uid, power] : kPowers)
      gains[is_silent][uid] = with.work_s.at(uid) / without.work_s.at(uid) - 1;
  }
  for (const auto& [uid, power] : kPowers)
    EXPECT_LT(std::abs(gains[true][uid] - gains[false][uid]), 0.05) << uid;
  EXPECT_GT(gains[true][1000], 0.05);
  EXPECT_GT(gains[true][1002], 0.05);
}

std::map<std::string, double> speeds(SimDaemon& daemon, std::uint32_t uid = kAnn) {
  std::map<std::string, double> found;
  const json answer = json::parse(daemon.ask("GET", "/v1/models").body);
  for (const json& model : answer["models"]) {
    if (model["user"] == fmt::format("user{}", uid)) found[model["gpu_type"]] = model["speed"];
  }
  return found;
}

std::string node_of(SimDaemon& daemon, std::size_t job) {
  const json on = daemon.job(job)["on"];
  return on.empty() ? "" : on[0]["node"].get<std::string>();
}

// A model that is as fast as its GPUs.
Command silent_work(int s) {
  return {"work",  std::to_string(s * 1000), "every=1", "term=checkpoint:100", "power=100",
          "silent"};
}

TEST(ServerSpeeds, AModelIsTriedOnceOnEachTypeAndItsNextRunKnowsTheSpeeds) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "2xV100,2xK80@0.25");
  const std::size_t first = daemon.submit(silent_work(4000));
  daemon.run_to(20);
  EXPECT_EQ(node_of(daemon, first), "K80") << "all types are equal as long as nothing is known";
  daemon.run_to(600);
  EXPECT_EQ(node_of(daemon, first), "V100") << "it was tried there, and is faster";
  EXPECT_EQ(daemon.job(first)["restarts"], 1);
  const auto learned = speeds(daemon);
  EXPECT_NEAR(learned.at("K80"), 1, 0.05);
  EXPECT_NEAR(learned.at("V100"), 4, 0.2);
  daemon.await(first);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(speeds(daemon), learned);
  const std::size_t second = daemon.submit(silent_work(2000));
  EXPECT_EQ(node_of(daemon, second), "V100");
  daemon.await(second);
  EXPECT_EQ(daemon.job(second)["restarts"], 0);
  EXPECT_EQ(speeds(daemon, kBob).size(), 0U) << "another user's model is another one";
}

TEST(ServerSpeeds, AJobWithoutASensorIsTriedOnceAndAPinnedJobNever) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "2xV100,2xK80@0.25");
  const std::size_t mute =
      daemon.submit({"work", "100000000", "every=100000000", "term=checkpoint:100"});
  const std::size_t pinned = daemon.submit({"work", "100000000", "every=1", "silent"});
  daemon.run_to(4 * 3600);
  EXPECT_EQ(daemon.job(mute)["restarts"], 1);
  EXPECT_EQ(daemon.job(pinned)["restarts"], 0);
}

TEST(ServerSpeeds, UsersForgetTheirOwn) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "2xV100");
  const std::size_t job = daemon.submit(silent_work(60), 1, kAnn, {{"model", "odd"}});
  daemon.await(job);
  ASSERT_EQ(speeds(daemon).size(), 1U);
  const auto forget = [&](const json& body, std::uint32_t uid) {
    return daemon.ask("POST", "/v1/models/forget", body, uid).status;
  };
  EXPECT_EQ(forget({{"user", "user1000"}, {"model", "odd"}}, kBob), 403);
  EXPECT_EQ(forget({{"user", "user1000"}, {"model", "even"}}, kAnn), 404);
  EXPECT_EQ(forget({{"model", "odd"}}, kAnn), 400);
  EXPECT_EQ(speeds(daemon).size(), 1U);
  EXPECT_EQ(forget({{"user", "user1000"}, {"model", "odd"}}, kAnn), 200);
  EXPECT_EQ(speeds(daemon).size(), 0U);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(speeds(daemon).size(), 0U);
  daemon.await(daemon.submit(silent_work(60), 1, kAnn, {{"model", "odd"}}));
  EXPECT_EQ(forget({{"user", "user1000"}, {"model", "odd"}}, 0), 200) << "an administrator";
  EXPECT_EQ(speeds(daemon).size(), 0U);
}

TEST(ServerSpeeds, AreLearnedUnderAPolicyThatNeedsNone) {
  SimDaemon daemon("fifo", "2xV100");
  daemon.await(daemon.submit(silent_work(60)));
  EXPECT_EQ(speeds(daemon).size(), 1U);
}

json profile_of(SimDaemon& daemon) {
  const json answer = json::parse(daemon.ask("GET", "/v1/models").body);
  return answer["models"].empty() ? json("no model") : answer["models"][0]["profile"];
}

int profiles_in(SimDaemon& daemon) {
  RecordedRun run;
  EXPECT_TRUE(
      read_journal(BlockReader::read(daemon.io.stream("journal.flj").value()).value(), run));
  return static_cast<int>(std::ranges::count_if(run.records(), [](const Record& record) {
    return std::holds_alternative<record::Profiled>(record.what);
  }));
}

TEST(ServerSpeeds, TheProfileOfAModelIsRecordedOnceAndKept) {
  SimDaemon daemon("dally", "4xV100");
  const auto work = [](int gradients_kb) {
    Command words = silent_work(100);
    words.push_back(fmt::format("gradients={}", gradients_kb));
    return words;
  };
  const json name = {{"model", "vgg"}};
  daemon.await(daemon.submit(silent_work(100), 1, kAnn, name));
  EXPECT_TRUE(profile_of(daemon).is_null()) << profile_of(daemon);
  daemon.await(daemon.submit(work(553'431), 1, kAnn, name));
  const json expected = {{"parameters_mb", 553.431},
                         {"gradients_mb", 553.431},
                         {"largest_tensor_mb", 276.716},
                         {"workers", 1},
                         {"samples", 32},
                         {"step_ms", 1.0}};
  EXPECT_EQ(profile_of(daemon), expected);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(profile_of(daemon), expected);
  const std::size_t again = daemon.submit(work(553'431), 1, kAnn, name);
  daemon.run_to(250);
  daemon.fail(Outage::kDaemon);
  daemon.await(again);
  EXPECT_EQ(profile_of(daemon), expected);
  EXPECT_EQ(profiles_in(daemon), 1);
  daemon.await(daemon.submit(work(8'000), 1, kAnn, name));
  EXPECT_EQ(profile_of(daemon)["gradients_mb"], 8);
  EXPECT_EQ(profiles_in(daemon), 2);
}

TEST(ServerSpeeds, AGangWhoseWorkersHaveBatchesOfTheirOwnIsAsFastForEachGpuAsOneGpu) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "4xV100");
  Command words = silent_work(60);
  words.emplace_back("gradients=8000");
  daemon.await(daemon.submit(words, 1, kAnn, {{"model", "vgg"}}));
  daemon.await(daemon.submit(words, 4, kAnn, {{"model", "vgg"}}));
  const json answer = json::parse(daemon.ask("GET", "/v1/models").body);
  std::map<int, double> by_gang;
  for (const json& model : answer["models"]) by_gang[model["gpus"]] = model["speed"];
  EXPECT_EQ(by_gang, (std::map<int, double>{{1, 1.0}, {4, 1.0}})) << answer;
}

}  // namespace
}  // namespace fairlead
