#include "fairlead/kube/reflector.h"

#include "fairlead/kube/fake_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace fairlead {
namespace {

using Kind = ReflectedChange::Kind;

std::string text_of(const ReflectedChange& change) {
  constexpr std::array kinds = {"+", "~", "-", "synced"};
  return kinds[static_cast<std::size_t>(change.kind)] + change.name.second;
}

class ReflectorTest : public testing::Test {
 protected:
  void run_until(Time t) {
    while (door_->now() < t) {
      reflector_.wake();
      reflector_.handle(door_->wait(std::min(t, reflector_.wake_at())));
    }
  }
  void run_for(Duration d) { run_until(door_->now() + d); }
  // Returns the reports since the last call.
  std::vector<std::string> told() { return std::exchange(told_, {}); }
  std::uint64_t lists(ListCause cause) const {
    return reflector_.figures().lists[static_cast<std::size_t>(cause)];
  }
  void label(const std::string& node, const std::string& value) {
    server_.act("PATCH", "/api/v1/nodes/" + node, {{"metadata", {{"labels", {{"x", value}}}}}});
  }
  std::uint64_t calls_of_streams() const { return reflector_.figures().streams; }

  FakeServer server_{1};
  std::unique_ptr<KubeDoor> door_ = server_.open();
  std::vector<std::string> told_;
  Reflector reflector_{*door_, "/api/v1/nodes", "",
                       [this](const ReflectedChange& change) { told_.push_back(text_of(change)); }};
};

using Told = std::vector<std::string>;

TEST_F(ReflectorTest, AListThenWhatChanges) {
  server_.add_node({.name = "a"});
  EXPECT_FALSE(reflector_.is_synced());
  run_until({1000});
  EXPECT_EQ(told(), (Told{"+a", "synced"}));
  EXPECT_TRUE(reflector_.is_fresh());
  server_.add_node({.name = "b"});
  label("a", "1");
  server_.act("DELETE", "/api/v1/nodes/b");
  run_until({2000});
  EXPECT_EQ(told(), (Told{"+b", "~a", "-b"}));
  EXPECT_EQ(reflector_.objects().size(), 1U);
}

TEST_F(ReflectorTest, LongListsComeInChunks) {
  for (int i = 0; i < 1100; ++i) server_.add_node({.name = fmt::format("n{:04}", i)});
  run_until({1000});
  EXPECT_EQ(reflector_.objects().size(), 1100U);
  const auto is_list = [](const FakeCall& call) {
    return call.path.find("limit=500") != call.path.npos;
  };
  EXPECT_EQ(std::ranges::count_if(server_.calls(), is_list), 3);
}

TEST_F(ReflectorTest, AListThatExpiresBetweenChunksIsTakenWhole) {
  for (int i = 0; i < 600; ++i) server_.add_node({.name = fmt::format("n{:04}", i)});
  server_.fail_next("GET", "continue=", {FakeFault::Kind::kStatus, 410});
  run_until({2000});
  EXPECT_EQ(reflector_.objects().size(), 600U);
  EXPECT_EQ(told().size(), 601U);
}

TEST_F(ReflectorTest, StreamsThatEndInOrderGoOnWithoutAList) {
  server_.add_node({.name = "a"});
  run_until({600'000});
  EXPECT_EQ(told(), (Told{"+a", "synced"}));
  EXPECT_GE(reflector_.figures().streams, 600U / 30);
  EXPECT_EQ(lists(ListCause::kStart), 1U);
  EXPECT_EQ(reflector_.figures().failures, 0U);
  EXPECT_TRUE(reflector_.is_fresh());
}

TEST_F(ReflectorTest, NothingIsLostOverAStreamThatBreaks) {
  run_until({1000});
  server_.break_streams();
  server_.add_node({.name = "a"});
  run_until({5000});
  EXPECT_EQ(told(), (Told{"synced", "+a"}));
  EXPECT_EQ(lists(ListCause::kStart), 1U);
  EXPECT_EQ(reflector_.figures().failures, 1U);
}

TEST_F(ReflectorTest, AfterTheHistoryExpiredWhatVanishedIsToldAsDeleted) {
  for (const char* node : {"a", "b", "c"}) server_.add_node({.name = node});
  run_until({1000});
  told();
  server_.go_away(seconds(3));
  server_.act("DELETE", "/api/v1/nodes/a");
  label("b", "1");
  server_.add_node({.name = "d"});
  server_.compact();
  run_until({20'000});
  EXPECT_EQ(told(), (Told{"~b", "+d", "-a", "synced"}));
  EXPECT_EQ(lists(ListCause::kExpired), 1U);
}

TEST_F(ReflectorTest, AnObjectMadeAnewUnderItsNameIsDeletedAndAdded) {
  server_.add_node({.name = "a"});
  run_until({1000});
  told();
  server_.break_streams();
  server_.act("DELETE", "/api/v1/nodes/a");
  server_.add_node({.name = "a"});
  server_.compact();
  run_until({5000});
  EXPECT_EQ(told(), (Told{"-a", "+a", "synced"}));
}

TEST_F(ReflectorTest, AStatusOf410IsExpiredToo) {
  run_until({1000});
  server_.fail_next("GET", "watch=true", {FakeFault::Kind::kStatus, 410});
  server_.break_streams();
  run_until({5000});
  EXPECT_EQ(lists(ListCause::kExpired), 1U);
}

TEST_F(ReflectorTest, ADeadStreamIsLeftAndKnowledgeIsStaleUntilThen) {
  run_until({1000});
  server_.silence_streams();
  server_.add_node({.name = "a"});
  run_until({31'000});
  run_for(seconds(5));
  EXPECT_EQ(told(), (Told{"synced", "+a"}));
  EXPECT_TRUE(reflector_.is_fresh());
  EXPECT_EQ(reflector_.figures().failures, 1U);
}

TEST_F(ReflectorTest, KnowledgeAgesWhileTheServerIsAway) {
  run_until({1000});
  server_.go_away(seconds(100));
  run_until({90'000});
  EXPECT_FALSE(reflector_.is_fresh());
  EXPECT_EQ(reflector_.trouble(), "watch: connection refused");
  EXPECT_GT(reflector_.age(), seconds(80));
  const std::uint64_t streams = calls_of_streams();
  EXPECT_LT(streams, 20U) << "tries are ever further apart";
  run_until({140'000});
  EXPECT_TRUE(reflector_.is_fresh());
  EXPECT_EQ(reflector_.trouble(), "");
}

TEST_F(ReflectorTest, TheServerSaysWhenToComeAgain) {
  server_.fail_next("GET", "limit", {FakeFault::Kind::kStatus, 429, seconds(7)});
  run_until({6900});
  EXPECT_FALSE(reflector_.is_synced());
  EXPECT_EQ(reflector_.trouble(), "list: 429 a fault of the test");
  EXPECT_EQ(server_.calls().size(), 1U);
  run_until({8000});
  EXPECT_TRUE(reflector_.is_synced());
}

TEST_F(ReflectorTest, AfterARestoreTheOlderStateIsTaken) {
  for (int i = 0; i < 50; ++i) server_.add_node({.name = fmt::format("n{}", i)});
  run_until({1000});
  EXPECT_EQ(reflector_.objects().size(), 50U);
  for (int i = 10; i < 50; ++i) server_.act("DELETE", fmt::format("/api/v1/nodes/n{}", i));
  server_.break_streams();
  server_.store().rewind(120);
  run_until({120'000});
  EXPECT_EQ(reflector_.objects().size(), 10U);
  EXPECT_EQ(lists(ListCause::kWentBack), 1U);
}

TEST_F(ReflectorTest, WhateverGoesWrongItKnowsWhatThereIsOnceNothingDoes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    FakeServer server(seed);
    server.set_rates({.too_many = 0.1,
                      .internal = 0.1,
                      .lost_request = 0.1,
                      .lost_answer = 0.1,
                      .stream_ends = 0.3,
                      .stream_breaks = 0.3,
                      .stream_dies = 0.2});
    const auto door = server.open();
    std::map<std::string, std::string> known;
    Reflector reflector(*door, "/api/v1/nodes", "", [&](const ReflectedChange& change) {
      const bool is_known = known.contains(change.name.second);
      if (change.kind == Kind::kDeleted) {
        EXPECT_EQ(known.erase(change.name.second), 1U);
      } else if (change.kind != Kind::kSynced) {
        EXPECT_EQ(is_known, change.kind == Kind::kModified);
        known[change.name.second] = text_at(*change.object, {"metadata", "resourceVersion"});
      }
    });
    Rng rng(seed);
    const auto run_for = [&](Duration d) {
      for (const Time end = door->now() + d; door->now() < end;) {
        reflector.wake();
        reflector.handle(door->wait(std::min(end, reflector.wake_at())));
      }
    };
    for (int i = 0; i < 200; ++i) {
      const std::string node = fmt::format("n{}", rng.below(20));
      if (rng.below(3) == 0)
        server.act("DELETE", "/api/v1/nodes/" + node);
      else
        server.add_node({.name = node, .gpus = static_cast<std::int64_t>(rng.below(8))});
      if (rng.below(40) == 0) server.compact();
      if (rng.below(60) == 0) server.go_away(seconds(20));
      run_for(milliseconds(static_cast<std::int64_t>(rng.below(3000))));
    }
    server.set_rates({});
    run_for(seconds(120));
    std::map<std::string, std::string> there;
    for (const FakeObject& node : server.store().list({std::string(kNodes), "", "", ""})) {
      there[text_at(*node, {"metadata", "name"})] = text_at(*node, {"metadata", "resourceVersion"});
    }
    EXPECT_EQ(known, there) << "seed " << seed;
    EXPECT_TRUE(reflector.is_fresh());
  }
}

// A door that answers as the test scripts it, for answers that no server gives on purpose.
class ScriptedDoor final : public KubeDoor {
 public:
  Time now() override { return now_; }
  std::int64_t unix_ms() override { return 0; }
  std::uint64_t random() override { return 0; }
  CallId call(KubeRequest request) override {
    asked.push_back(request.path);
    return asked.size();
  }
  CallId stream(KubeRequest request) override { return call(std::move(request)); }
  void drop(CallId) override {}
  KubeEvent wait(Time until) override {
    now_ = std::max(now_, until);
    return {};
  }
  std::vector<std::string> asked;

 private:
  Time now_;
};

class ScriptedReflectorTest : public testing::Test {
 protected:
  // Listed, and a watch is on.
  void SetUp() override {
    reflector_.wake();
    reflector_.handle({KubeEvent::Kind::kAnswer, 1, 200,
                       R"({"metadata": {"resourceVersion": "50"}, "items": []})"});
    ASSERT_EQ(door_.asked.size(), 2U);
  }
  void line(const std::string& text) { reflector_.handle({KubeEvent::Kind::kLine, 2, 200, text}); }
  // Returns the request that is sent after a second.
  std::string next() {
    door_.wait(door_.now() + seconds(1));
    reflector_.wake();
    return door_.asked.back();
  }
  ScriptedDoor door_;
  std::string told_;
  Reflector reflector_{door_, "/api/v1/pods", "labelSelector=a",
                       [this](const ReflectedChange& change) { told_ += text_of(change) + " "; }};
};

TEST_F(ScriptedReflectorTest, AsksForWhatItIsAbout) {
  EXPECT_EQ(door_.asked[0], "/api/v1/pods?labelSelector=a&limit=500");
  EXPECT_EQ(door_.asked[1],
            "/api/v1/pods?labelSelector=a&watch=true&allowWatchBookmarks=true&timeoutSeconds=20&"
            "resourceVersion=50");
}

TEST_F(ScriptedReflectorTest, ALineThatIsNoJsonIsFollowedByAList) {
  line("{\"type\": \"ADD");
  EXPECT_EQ(next(), "/api/v1/pods?labelSelector=a&limit=500");
}

TEST_F(ScriptedReflectorTest, LinesWithoutAnObjectOrVersionAreFollowedByAList) {
  for (const char* text : {"7", "[]", R"({"type": "ADDED"})", R"({"type": "ADDED", "object": {}})",
                           R"({"type": 7, "object": {"metadata": {"resourceVersion": "60"}}})"}) {
    ScriptedDoor door;
    Reflector reflector(door, "/a", "", [](const ReflectedChange&) {});
    reflector.wake();
    reflector.handle({KubeEvent::Kind::kAnswer, 1, 200,
                      R"({"metadata": {"resourceVersion": "50"}, "items": []})"});
    reflector.handle({KubeEvent::Kind::kLine, 2, 200, text});
    door.wait({1000});
    reflector.wake();
    EXPECT_EQ(door.asked.back(), "/a?limit=500") << text;
  }
}

TEST_F(ScriptedReflectorTest, AVersionThatGoesBackIsFollowedByAList) {
  line(R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "40"}}})");
  EXPECT_EQ(next(), "/api/v1/pods?labelSelector=a&limit=500");
}

TEST_F(ScriptedReflectorTest, AVersionFromTheFutureIsFollowedByAList) {
  reflector_.handle(
      {KubeEvent::Kind::kEnd, 2, 504,
       R"({"kind": "Status", "message": "Timeout: Too large resource version: 50, current: 7",
           "reason": "Timeout",
           "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}, "code": 504})"});
  EXPECT_EQ(next(), "/api/v1/pods?labelSelector=a&limit=500");
}

TEST_F(ScriptedReflectorTest, ABookmarkIsWhereTheNextWatchBegins) {
  line(R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "77"}}})");
  reflector_.handle({KubeEvent::Kind::kEnd, 2, 200, ""});
  EXPECT_TRUE(door_.asked.back().ends_with("resourceVersion=77"));
}

TEST_F(ScriptedReflectorTest, AnotherErrorIsWaitedOutAndTheWatchGoesOn) {
  line(
      R"({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcd is away"}})");
  EXPECT_EQ(reflector_.trouble(), "watch: etcd is away");
  EXPECT_TRUE(next().ends_with("resourceVersion=50"));
}

TEST_F(ScriptedReflectorTest, WhoWroteWhichFieldIsLeftOut) {
  line(R"({"type": "ADDED", "object": {"metadata": {"name": "p", "namespace": "lab",
           "resourceVersion": "60", "managedFields": [{"manager": "kubectl"}]}}})");
  ASSERT_EQ(told_, "synced +p ");
  const Json& pod = *reflector_.objects().begin()->second;
  EXPECT_FALSE(json_at(pod, {"metadata"}).contains("managedFields"));
}

}  // namespace
}  // namespace fairlead
