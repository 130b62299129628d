#include "fairlead/kube/fake_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr const char* kPodsOfLab = "/api/v1/namespaces/lab/pods";
constexpr const char* kJobPath = "/apis/batch/v1/namespaces/lab/jobs/train";

class FakeServerTest : public testing::Test {
 protected:
  // The answer to a call, with what else comes meanwhile left out.
  KubeEvent answer(const KubeRequest& request) {
    const CallId id = door_->call(request);
    while (true) {
      KubeEvent event = door_->wait(Time::never());
      if (event.call == id) return event;
    }
  }
  Json get(const std::string& path) {
    return parsed_json(answer({"GET", path}).text).value_or(Json());
  }
  std::vector<Json> pods() {
    const Json list = get(kPodsOfLab);
    return json_at(list, {"items"}).get<std::vector<Json>>();
  }
  int bind(const std::string& pod, const std::string& node, const Json& metadata = Json::object()) {
    const Json body = {{"metadata", metadata}, {"target", {{"kind", "Node"}, {"name", node}}}};
    return answer({"POST", std::string(kPodsOfLab) + "/" + pod + "/binding", compact_text(body)})
        .status;
  }
  int patch(const std::string& path, const Json& body) {
    return answer({"PATCH", path, compact_text(body), std::string(kMergePatch)}).status;
  }
  // Lines and ends of a stream until then, as "ADDED pod-name", "END 200".
  std::vector<std::string> hear(Time until) {
    std::vector<std::string> heard;
    while (true) {
      const KubeEvent event = door_->wait(until);
      if (event.kind == KubeEvent::Kind::kTime) return heard;
      if (event.kind == KubeEvent::Kind::kEnd) heard.push_back(fmt::format("END {}", event.status));
      if (event.kind != KubeEvent::Kind::kLine) continue;
      const Json line = parsed_json(event.text).value_or(Json());
      heard.push_back(fmt::format("{} {}", text_at(line, {"type"}),
                                  text_at(line, {"object", "metadata", "name"})));
    }
  }
  static std::string phase(const Json& pod) { return text_at(pod, {"status", "phase"}); }
  static std::string name(const Json& object) { return text_at(object, {"metadata", "name"}); }

  FakeServer server_{1};
  std::unique_ptr<KubeDoor> door_ = server_.open();
};

TEST_F(FakeServerTest, AJobGetsItsPodsWhichRunOnceTheyAreBoundAndEnd) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "train", .pods = 2, .gpus = 4, .run = seconds(60)});
  server_.run_until({1000});
  for (const Json& pod : pods()) {
    EXPECT_EQ(phase(pod), "Pending");
    EXPECT_EQ(bind(name(pod), "n0"), 201);
  }
  server_.run_until({10'000});
  ASSERT_EQ(pods().size(), 2U);
  for (const Json& pod : pods()) EXPECT_EQ(phase(pod), "Running");
  server_.run_until({70'000});
  for (const Json& pod : pods()) EXPECT_EQ(phase(pod), "Succeeded");
  const Json job = get(kJobPath);
  EXPECT_EQ(integer_at(job, {"status", "succeeded"}), 2);
  EXPECT_EQ(text_at(item_at(job, {"status", "conditions"}, "type", "Complete"), {"status"}),
            "True");
}

TEST_F(FakeServerTest, APodIsBoundOnceAndOnlyAsItWasSeen) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "one", .pods = 0});
  EXPECT_EQ(bind("one", "n0", {{"uid", "another"}}), 409);
  EXPECT_EQ(bind("one", "n0", {{"resourceVersion", "7"}}), 409);
  const Json pod = pods().at(0);
  EXPECT_EQ(bind("one", "n0",
                 {{"uid", pod["metadata"]["uid"]},
                  {"resourceVersion", pod["metadata"]["resourceVersion"]},
                  {"annotations", {{"fairlead.dev/gpus", "3"}}}}),
            201);
  EXPECT_EQ(bind("one", "n0"), 409);
  EXPECT_EQ(text_at(pods().at(0), {"metadata", "annotations", "fairlead.dev/gpus"}), "3");
  EXPECT_EQ(bind("none", "n0"), 404);
}

TEST_F(FakeServerTest, TooManyGpusAreBoundButFailedByTheKubelet) {
  server_.add_node({.name = "n0", .gpus = 8});
  server_.add_job({.name_space = "lab", .name = "a", .pods = 0, .gpus = 6});
  server_.add_job({.name_space = "lab", .name = "b", .pods = 0, .gpus = 3});
  EXPECT_EQ(bind("a", "n0"), 201);
  server_.run_until(server_.now() + seconds(1));
  EXPECT_EQ(bind("b", "n0"), 201);
  server_.run_until(server_.now() + seconds(5));
  EXPECT_EQ(phase(pods().at(0)), "Running");
  EXPECT_EQ(phase(pods().at(1)), "Failed");
  EXPECT_EQ(text_at(pods().at(1), {"status", "reason"}), "OutOfnvidia.com/gpu");
}

TEST_F(FakeServerTest, AJobThatIsSuspendedLosesItsPodsAndResumesWhereItWas) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "train", .pods = 1, .run = seconds(100)});
  server_.run_until({500});
  bind(name(pods().at(0)), "n0");
  server_.run_until({60'000});
  EXPECT_EQ(patch(kJobPath, {{"spec", {{"suspend", true}}}}), 200);
  server_.run_until({62'000});
  EXPECT_TRUE(pods().empty());
  Json job = get(kJobPath);
  EXPECT_EQ(integer_at(job, {"status", "failed"}), 0);
  EXPECT_EQ(text_at(item_at(job, {"status", "conditions"}, "type", "Suspended"), {"status"}),
            "True");
  EXPECT_GT(server_.cluster().progress(text_at(job, {"metadata", "uid"})), seconds(50));
  patch(kJobPath, {{"spec", {{"suspend", false}}}});
  server_.run_until({63'000});
  bind(name(pods().at(0)), "n0");
  server_.run_until({110'000});
  job = get(kJobPath);
  EXPECT_EQ(text_at(item_at(job, {"status", "conditions"}, "type", "Complete"), {"status"}),
            "True");
}

TEST_F(FakeServerTest, TheTemplateChangesOnlyWhileTheJobIsSuspended) {
  server_.add_job({.name_space = "lab", .name = "train", .is_suspended = true});
  const Json move = {{"spec", {{"template", {{"spec", {{"nodeSelector", {{"rack", "r1"}}}}}}}}}};
  EXPECT_EQ(patch(kJobPath, move), 200);
  EXPECT_EQ(patch(kJobPath, {{"spec", {{"suspend", false}}}}), 200);
  EXPECT_EQ(patch(kJobPath, {{"spec", {{"template", {{"spec", {{"nodeSelector", nullptr}}}}}}}}),
            422);
}

TEST_F(FakeServerTest, APodThatIsDeletedIsMarkedThenFailsThenIsGone) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "one", .pods = 0});
  bind("one", "n0");
  server_.run_until({5000});
  const CallId watch =
      door_->stream({"GET", std::string(kPodsOfLab) + "?watch=true&resourceVersion=" +
                                fmt::to_string(server_.store().version())});
  EXPECT_EQ(answer({"DELETE", std::string(kPodsOfLab) + "/one",
                    R"({"preconditions": {"uid": "another"}})"})
                .status,
            409);
  EXPECT_EQ(
      door_->call({"DELETE", std::string(kPodsOfLab) + "/one", R"({"gracePeriodSeconds": 5})"}),
      watch + 2);
  EXPECT_EQ(hear(server_.now() + seconds(10)),
            (std::vector<std::string>{"MODIFIED one", "MODIFIED one", "DELETED one"}));
}

TEST_F(FakeServerTest, AWatchTellsWhatEntersAndLeavesItsSelection) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "ours", .pods = 0});
  server_.add_job({.name_space = "lab", .name = "theirs", .pods = 0, .scheduler = "other"});
  door_->stream({"GET",
                 "/api/v1/pods?watch=true&fieldSelector=spec.schedulerName%3Dfairlead,"
                 "spec.nodeName%3D"});
  EXPECT_EQ(hear({500}), (std::vector<std::string>{"ADDED ours"}));
  server_.act("POST", std::string(kPodsOfLab) + "/ours/binding", {{"target", {{"name", "n0"}}}});
  EXPECT_EQ(hear({5000}), (std::vector<std::string>{"DELETED ours"}));
}

TEST_F(FakeServerTest, AStreamHasABookmarkBeforeItsEndIfAnythingHappened) {
  server_.add_node({.name = "n0"});
  const std::string version = fmt::to_string(server_.store().version());
  server_.act("PATCH", "/api/v1/nodes/n0", {{"spec", {{"unschedulable", true}}}});
  door_->stream({"GET",
                 "/api/v1/nodes?watch=true&allowWatchBookmarks=true&timeoutSeconds=20"
                 "&resourceVersion=" +
                     version});
  EXPECT_EQ(hear({19'000}), (std::vector<std::string>{"MODIFIED n0", "BOOKMARK "}));
  EXPECT_EQ(hear({25'000}), (std::vector<std::string>{"END 200"}));
  const std::string now = fmt::to_string(server_.store().version());
  server_.add_job({.name = "of-another-resource"});
  door_->stream({"GET",
                 "/api/v1/nodes?watch=true&allowWatchBookmarks=true&timeoutSeconds=20"
                 "&resourceVersion=" +
                     now});
  EXPECT_EQ(hear({60'000}), (std::vector<std::string>{"END 200"}));
}

TEST_F(FakeServerTest, AWatchFromBeforeTheCompactionIsExpired) {
  server_.add_node({.name = "n0"});
  server_.compact();
  const CallId id = door_->stream({"GET", "/api/v1/nodes?watch=true&resourceVersion=100"});
  const KubeEvent line = door_->wait({1000});
  EXPECT_EQ(line.call, id);
  const Json error = parsed_json(line.text).value_or(Json());
  EXPECT_EQ(text_at(error, {"type"}), "ERROR");
  EXPECT_EQ(integer_at(error, {"object", "code"}), 410);
  EXPECT_EQ(door_->wait({1000}).kind, KubeEvent::Kind::kEnd);
}

TEST_F(FakeServerTest, AListInChunksIsTheStateOfItsBeginning) {
  for (const char* node : {"a", "b", "c"}) server_.add_node({.name = node});
  const Json first = get("/api/v1/nodes?limit=2");
  EXPECT_EQ(first["items"].size(), 2U);
  server_.add_node({.name = "d"});
  const std::string token = text_at(first, {"metadata", "continue"});
  const Json second = get("/api/v1/nodes?limit=2&continue=" + token);
  EXPECT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  const Json again = get("/api/v1/nodes?limit=2");
  server_.add_node({.name = "e"});
  server_.compact();
  const std::string expired = text_at(again, {"metadata", "continue"});
  EXPECT_EQ(answer({"GET", "/api/v1/nodes?limit=2&continue=" + expired}).status, 410);
}

TEST_F(FakeServerTest, AWriteOfAnOldVersionIsAConflict) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/lab/leases";
  const Json lease = {{"metadata", {{"name", "l"}}}, {"spec", {{"holderIdentity", "a"}}}};
  EXPECT_EQ(answer({"POST", leases, compact_text(lease)}).status, 201);
  EXPECT_EQ(answer({"POST", leases, compact_text(lease)}).status, 409);
  Json read = get(leases + "/l");
  read["spec"]["holderIdentity"] = "b";
  EXPECT_EQ(answer({"PUT", leases + "/l", compact_text(read)}).status, 200);
  EXPECT_EQ(answer({"PUT", leases + "/l", compact_text(read)}).status, 409);
}

TEST_F(FakeServerTest, ACallWhoseAnswerIsLostTookEffectAndOneThatIsLateTakesIt) {
  const std::string maps = "/api/v1/namespaces/lab/configmaps";
  const auto post = [&](const char* name, FakeFault::Kind kind) {
    server_.fail(1, {kind});
    const Json map = {{"metadata", {{"name", name}}}};
    return answer({"POST", maps, compact_text(map)}).status;
  };
  const auto is_there = [&](const char* name) {
    return server_.store().find({"/api/v1/configmaps", "lab", name}) != nullptr;
  };
  EXPECT_EQ(post("a", FakeFault::Kind::kLostAnswer), 0);
  EXPECT_TRUE(is_there("a"));
  EXPECT_EQ(post("b", FakeFault::Kind::kLostRequest), 0);
  EXPECT_FALSE(is_there("b"));
  EXPECT_EQ(post("c", FakeFault::Kind::kLate), 0);
  EXPECT_FALSE(is_there("c"));
  server_.run_until(server_.now() + seconds(1));
  EXPECT_TRUE(is_there("c"));
}

TEST_F(FakeServerTest, FaultsMeetTheCallsThatAreNamed) {
  server_.fail_next("GET", "nodes", {FakeFault::Kind::kStatus, 429, seconds(3)});
  EXPECT_EQ(answer({"GET", kPodsOfLab}).status, 200);
  const KubeEvent refused = answer({"GET", "/api/v1/nodes"});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.retry_after, seconds(3));
  EXPECT_EQ(answer({"GET", "/api/v1/nodes"}).status, 200);
}

TEST_F(FakeServerTest, AServerThatIsAwayBreaksStreamsAndRefusesCalls) {
  door_->stream({"GET", "/api/v1/nodes?watch=true"});
  hear({100});
  server_.go_away(seconds(10));
  EXPECT_EQ(hear({200}), (std::vector<std::string>{"END 0"}));
  EXPECT_EQ(answer({"GET", "/api/v1/nodes"}).status, 0);
  server_.run_until({11'000});
  EXPECT_EQ(answer({"GET", "/api/v1/nodes"}).status, 200);
}

TEST_F(FakeServerTest, WhatIsDroppedIsNotHeardAndASilentStreamNeverEnds) {
  const CallId call = door_->call({"GET", "/api/v1/nodes"});
  const CallId stream = door_->stream({"GET", "/api/v1/nodes?watch=true&timeoutSeconds=30"});
  door_->drop(call);
  EXPECT_EQ(door_->wait({100}).kind, KubeEvent::Kind::kTime);
  server_.silence_streams();
  server_.add_node({.name = "n0"});
  EXPECT_EQ(door_->wait({60'000}).kind, KubeEvent::Kind::kTime);
  door_->drop(stream);
  EXPECT_EQ(server_.open_streams(), 0U);
}

TEST_F(FakeServerTest, APodOfANodeThatIsNotReadyIsGoneOnlyOnceItIsAgain) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab", .name = "one", .pods = 0});
  bind("one", "n0");
  server_.run_until({5000});
  server_.set_node_ready("n0", false);
  answer({"DELETE", std::string(kPodsOfLab) + "/one"});
  server_.run_until({60'000});
  EXPECT_EQ(pods().size(), 1U);
  server_.set_node_ready("n0", true);
  server_.run_until({65'000});
  EXPECT_TRUE(pods().empty());
}

TEST_F(FakeServerTest, ThePodsOfANodeThatStaysAwayAreDeletedAndOfOneThatIsRemovedAreGone) {
  for (const char* node : {"n0", "n1"}) server_.add_node({.name = node});
  for (const char* pod : {"a", "b"}) server_.add_job({.name_space = "lab", .name = pod, .pods = 0});
  bind("a", "n0");
  bind("b", "n1");
  server_.run_until({5000});
  server_.set_node_ready("n0", false);
  server_.act("DELETE", "/api/v1/nodes/n1");
  server_.run_until({300'000});
  ASSERT_EQ(pods().size(), 1U);
  EXPECT_FALSE(pods().at(0)["metadata"].contains("deletionTimestamp"));
  server_.run_until({310'000});
  EXPECT_TRUE(pods().at(0)["metadata"].contains("deletionTimestamp"));
  const Json disrupted =
      item_at(pods().at(0), {"status", "conditions"}, "type", "DisruptionTarget");
  EXPECT_EQ(text_at(disrupted, {"status"}), "True");
}

TEST_F(FakeServerTest, APodThatFailsIsReplacedAfterAWhileAndCounts) {
  server_.add_node({.name = "n0"});
  server_.add_job({.name_space = "lab",
                   .name = "train",
                   .run = seconds(1),
                   .pod_annotations = {{std::string(kFakeExitCode), "1"}}});
  server_.run_until({500});
  bind(name(pods().at(0)), "n0");
  server_.run_until({6000});
  EXPECT_EQ(pods().size(), 1U);
  server_.run_until({20'000});
  ASSERT_EQ(pods().size(), 2U);
  EXPECT_EQ(integer_at(get(kJobPath), {"status", "failed"}), 1);
}

TEST_F(FakeServerTest, EqualSeedsGiveEqualWorlds) {
  const auto story = [](std::uint64_t seed) {
    FakeServer server(seed);
    const auto door = server.open();
    server.set_rates({.internal = 0.2, .lost_answer = 0.1, .stream_breaks = 0.5});
    server.add_node({.name = "n0"});
    server.add_job({.name_space = "lab", .name = "train", .pods = 3});
    door->stream({"GET", "/api/v1/pods?watch=true"});
    for (int i = 0; i < 20; ++i) door->call({"GET", "/api/v1/nodes"});
    std::string told;
    while (true) {
      const KubeEvent event = door->wait({100'000});
      if (event.kind == KubeEvent::Kind::kTime) return told;
      told += fmt::format("{} {} {} {}\n", door->now().ms, event.call, event.status, event.text);
    }
  };
  EXPECT_EQ(story(7), story(7));
  EXPECT_NE(story(7), story(8));
}

}  // namespace
}  // namespace fairlead
