// The real door, the reflector and the lease on a real API server, with administrator rights.
// FAIRLEAD_TEST_KUBECONFIG names its kubeconfig file. The test creates a namespace and deletes it
// again.

#include "fairlead/kube/curl_door.h"
#include "fairlead/kube/lease.h"
#include "fairlead/kube/reflector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace fairlead {
namespace {

constexpr const char* kVariable = "FAIRLEAD_TEST_KUBECONFIG";

const char* variable(const char* name) {
  return std::string_view(name) == "KUBECONFIG" ? std::getenv(kVariable) : nullptr;
}

std::unique_ptr<CurlDoor> open_door() {
  auto target = find_kube_target("", variable);
  EXPECT_TRUE(target.has_value()) << target.error().message;
  auto door = CurlDoor::open(std::move(*target));
  EXPECT_TRUE(door.has_value()) << door.error().message;
  return std::move(*door);
}

class LiveTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv(kVariable) == nullptr) GTEST_SKIP() << kVariable << " is not set";
    door_ = open_door();
    name_space_ = fmt::format("fairlead-test-{:x}", door_->random());
    const Json body = {{"metadata", {{"name", name_space_}}}};
    ASSERT_EQ(answer({"POST", "/api/v1/namespaces", compact_text(body)}).status, 201);
  }
  void TearDown() override {
    if (door_) answer({"DELETE", "/api/v1/namespaces/" + name_space_});
  }

  KubeEvent answer(const KubeRequest& request) {
    const CallId id = door_->call(request);
    KubeEvent event;
    while (event.call != id) event = door_->wait(door_->now() + seconds(60));
    return event;
  }
  // Until `is_done`, or for so long.
  template <class IsDone>
  bool follow(KubeDoor& door, Reflector& reflector, Duration limit, const IsDone& is_done) {
    for (const Time end = door.now() + limit; door.now() < end && !is_done();) {
      reflector.wake();
      reflector.handle(door.wait(std::min(end, reflector.wake_at())));
    }
    return is_done();
  }
  std::string path(std::string_view resource) const {
    return fmt::format("/api/v1/namespaces/{}/{}", name_space_, resource);
  }
  void put_map(const std::string& name, const std::string& value) {
    const Json body = {{"metadata", {{"name", name}}}, {"data", {{"value", value}}}};
    EXPECT_EQ(answer({"POST", path("configmaps"), compact_text(body)}).status, 201) << name;
  }

  std::unique_ptr<CurlDoor> door_;
  std::string name_space_;
};

TEST_F(LiveTest, AReflectorFollowsWhatOthersDo) {
  const auto door = open_door();
  std::vector<std::string> told;
  Reflector reflector(*door, path("configmaps"), "labelSelector=%21skip", [&](const auto& change) {
    constexpr std::array kinds = {"+", "~", "-", "synced"};
    const std::string name = change.name.second;
    if (name != "kube-root-ca.crt") {
      told.push_back(kinds[static_cast<std::size_t>(change.kind)] + name);
    }
  });
  put_map("before", "1");
  ASSERT_TRUE(follow(*door, reflector, seconds(10), [&] { return reflector.is_synced(); }));
  put_map("after", "1");
  const Json patch = {{"data", {{"value", "2"}}}};
  EXPECT_EQ(
      answer({"PATCH", path("configmaps/after"), compact_text(patch), std::string(kMergePatch)})
          .status,
      200);
  EXPECT_EQ(answer({"DELETE", path("configmaps/before")}).status, 200);
  EXPECT_TRUE(follow(*door, reflector, seconds(10), [&] { return told.size() >= 5; }));
  EXPECT_EQ(told, (std::vector<std::string>{"+before", "synced", "+after", "~after", "-before"}));
  EXPECT_TRUE(reflector.is_fresh());
}

TEST_F(LiveTest, AListLongerThanAChunkIsWhole) {
  constexpr std::size_t kMaps = 620;
  std::set<CallId> open;
  for (std::size_t i = 0; i < kMaps; ++i) {
    const Json body = {{"metadata", {{"name", fmt::format("m{}", i)}}}};
    open.insert(door_->call({"POST", path("configmaps"), compact_text(body)}));
  }
  while (!open.empty()) {
    const KubeEvent event = door_->wait(door_->now() + seconds(60));
    ASSERT_EQ(event.status, 201) << event.text;
    open.erase(event.call);
  }
  Reflector reflector(*door_, path("configmaps"), "", [](const ReflectedChange&) {});
  ASSERT_TRUE(follow(*door_, reflector, seconds(30), [&] { return reflector.is_synced(); }));
  EXPECT_GE(reflector.objects().size(), kMaps);
}

TEST_F(LiveTest, AnIdleResourceIsFollowedWithoutListsAndKnowledgeStaysFresh) {
  Reflector reflector(*door_, path("configmaps"), "labelSelector=never", [](const auto&) {});
  bool was_fresh = true;
  follow(*door_, reflector, seconds(100), [&] {
    was_fresh &= !reflector.is_synced() || reflector.is_fresh();
    return false;
  });
  EXPECT_TRUE(was_fresh);
  EXPECT_EQ(reflector.figures().failures, 0U) << reflector.trouble();
  EXPECT_EQ(reflector.figures().lists[0], 1U);
}

TEST_F(LiveTest, OfTwoThatWantToLeadOneDoesAndTheOtherFollowsIt) {
  const auto other_door = open_door();
  Lease one(*door_, {.name_space = name_space_, .identity = "one"});
  Lease two(*other_door, {.name_space = name_space_, .identity = "two"});
  const auto run = [](KubeDoor& door, Lease& lease, Duration time) {
    for (const Time end = door.now() + time; door.now() < end;) {
      lease.wake();
      lease.handle(door.wait(std::min(end, lease.wake_at())));
    }
  };
  run(*door_, one, seconds(1));
  EXPECT_TRUE(one.is_leader(door_->now())) << one.trouble();
  run(*other_door, two, seconds(1));
  EXPECT_FALSE(two.is_leader(other_door->now()));
  EXPECT_EQ(two.holder(), "one");
  run(*door_, one, seconds(3));
  EXPECT_TRUE(one.is_leader(door_->now())) << one.trouble();
  EXPECT_NE(one.release(), 0U);
  door_->wait(door_->now() + seconds(5));
  run(*other_door, two, seconds(3));
  EXPECT_TRUE(two.is_leader(other_door->now())) << two.trouble();
}

TEST_F(LiveTest, AWatchFromTheFutureIsSilentAndSoTheServerIsAsked) {
  const KubeEvent list = answer({"GET", path("configmaps") + "?limit=1"});
  const Json body = parsed_json(list.text).value_or(Json());
  const std::string version = text_at(body, {"metadata", "resourceVersion"});
  const CallId watch =
      door_->stream({"GET", path("configmaps") +
                                "?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&"
                                "resourceVersion=" +
                                version + "000"});
  put_map("unheard", "1");
  KubeEvent event = door_->wait(door_->now() + seconds(20));
  EXPECT_EQ(event.call, watch);
  EXPECT_EQ(event.kind, KubeEvent::Kind::kEnd);
  EXPECT_EQ(event.status, 200);
}

TEST_F(LiveTest, CallsOfOneDoorShareAConnectionAndAreAllAnswered) {
  std::set<CallId> open;
  for (int i = 0; i < 500; ++i) open.insert(door_->call({"GET", path("configmaps") + "?limit=1"}));
  const Time start = door_->now();
  while (!open.empty()) {
    const KubeEvent event = door_->wait(door_->now() + seconds(60));
    ASSERT_EQ(event.status, 200) << event.text;
    open.erase(event.call);
  }
  RecordProperty("ms", static_cast<int>((door_->now() - start).ms));
}

}  // namespace
}  // namespace fairlead
