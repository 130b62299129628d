#include "fairlead/pods/census.h"

#include "fairlead/kube/fake_server.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

class CensusTest : public testing::Test {
 protected:
  Census take(const CensusOptions& options = {}) {
    const auto door = server_.open();
    auto census = take_census(*door, door->now() + seconds(60), options);
    EXPECT_TRUE(census) << census.error().message;
    return census ? *std::move(census) : Census{};
  }
  static const CensusGang* find(const Census& census, const std::string& name) {
    const auto found = std::ranges::find(census.gangs, name, &CensusGang::name);
    return found == census.gangs.end() ? nullptr : &*found;
  }
  void bind(const std::string& name_space, const std::string& pod, const std::string& node) {
    server_.act("POST", "/api/v1/namespaces/" + name_space + "/pods/" + pod + "/binding",
                {{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", {{"name", pod}}},
                 {"target", {{"kind", "Node"}, {"name", node}}}});
  }
  // Binds all pods of a Job.
  void bind_job(const std::string& name_space, const std::string& job, const std::string& node) {
    const FakeAnswer list = server_.act("GET", "/api/v1/namespaces/" + name_space + "/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      const std::string& name = text_at(pod, {"metadata", "name"});
      if (name.starts_with(job + "-")) bind(name_space, name, node);
    }
  }

  FakeServer server_{1};
};

TEST_F(CensusTest, JobsThatRunWaitAndHaveEndedAreGangs) {
  server_.add_node({.name = "n1"});
  server_.add_job({.name_space = "lab",
                   .name = "done",
                   .pods = 2,
                   .gpus = 2,
                   .run = seconds(100),
                   .annotations = {{"fairlead.dev/model", "resnet50"}}});
  server_.run_until(Time{} + seconds(10));
  bind_job("lab", "done", "n1");
  server_.run_until(Time{} + seconds(200));
  server_.add_job({.name_space = "lab", .name = "runs", .gpus = 4});
  server_.run_until(Time{} + seconds(210));
  bind_job("lab", "runs", "n1");
  server_.add_job({.name_space = "lab",
                   .name = "waits",
                   .gpus = 4,
                   .annotations = {{"fairlead.dev/time-s", "3600"}}});
  server_.add_job({.name_space = "lab", .name = "held", .gpus = 4, .is_suspended = true});
  server_.run_until(Time{} + seconds(300));
  const Census census = take();
  ASSERT_EQ(census.gangs.size(), 4U);
  EXPECT_EQ(census.gangs[0].name, "done") << "the oldest first";
  const CensusGang& done = census.gangs[0];
  EXPECT_EQ(done.state, CensusGang::State::kFinished);
  EXPECT_EQ(done.model, "resnet50");
  EXPECT_EQ(done.tasks, 2U);
  EXPECT_EQ(done.task_gpus, 2U);
  EXPECT_EQ(done.node, "n1");
  EXPECT_NEAR(static_cast<double>(done.ended_unix_ms - done.started_unix_ms), 100e3, 5e3)
      << "from when its pods ran, not from when they began to wait";
  EXPECT_EQ(find(census, "runs")->state, CensusGang::State::kRunning);
  EXPECT_EQ(find(census, "waits")->state, CensusGang::State::kWaiting);
  EXPECT_EQ(find(census, "waits")->declared, seconds(3600));
  EXPECT_EQ(find(census, "held")->state, CensusGang::State::kHeld);
  EXPECT_EQ(census.nodes.at("n1").gpus, 8U);
  EXPECT_TRUE(census.others.empty());
}

TEST_F(CensusTest, WhatOthersScheduleIsTakenOrIsAGangByWish) {
  server_.add_node({.name = "n1"});
  server_.add_job({.name_space = "web", .name = "theirs", .pods = 2, .gpus = 1, .scheduler = "x"});
  server_.add_job({.name_space = "web", .name = "bare", .pods = 0, .gpus = 3, .scheduler = "x"});
  server_.add_job({.name_space = "web", .name = "cpu", .gpus = 0, .scheduler = "x"});
  server_.run_until(Time{} + seconds(10));
  bind_job("web", "theirs", "n1");
  bind("web", "bare", "n1");
  server_.run_until(Time{} + seconds(60));
  const Census ours = take();
  EXPECT_TRUE(ours.gangs.empty());
  EXPECT_EQ(ours.others.at("n1"), 5U);
  const Census all = take({.all_schedulers = true});
  ASSERT_EQ(all.gangs.size(), 2U);
  EXPECT_EQ(find(all, "theirs")->gpus(), 2);
  EXPECT_EQ(find(all, "theirs")->state, CensusGang::State::kRunning);
  EXPECT_EQ(find(all, "bare")->gpus(), 3);
  EXPECT_EQ(find(all, "bare")->state, CensusGang::State::kRunning);
  EXPECT_TRUE(all.others.empty());
  EXPECT_TRUE(all.left_out.empty());
}

TEST_F(CensusTest, TicketsAndWhatIsNoGangAreToldOf) {
  server_.add_node({.name = "n1"});
  server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "fairlead"}}}});
  server_.act("POST", "/api/v1/namespaces/fairlead/configmaps",
              {{"metadata", {{"name", "fairlead"}}}, {"data", {{"tickets", "lab: 3"}}}});
  server_.add_job({.name_space = "lab", .name = "cpu", .gpus = 0});
  server_.run_until(Time{} + seconds(10));
  const Census census = take();
  EXPECT_EQ(census.tickets.at("lab"), 3);
  EXPECT_EQ(census.left_out,
            (std::vector<std::string>{"lab/cpu: its pods ask for no nvidia.com/gpu"}));
}

// Returns the answer to a dry run: a Job of two pods with two GPUs each.
Json planned_job() {
  Json shape = fake_template(2, Json::object());
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", "train"},
            {"namespace", "lab"},
            {"uid", "u1"},
            {"creationTimestamp", "2026-01-01T00:00:00Z"},
            {"annotations", {{"fairlead.dev/time-s", "60"}}}}},
          {"spec", {{"parallelism", 2}, {"completions", 2}, {"template", std::move(shape)}}}};
}

Result<CensusGang> planned(const Json& object) {
  return planned_gang(*find_owner_kind("batch/v1", "Job"), object);
}

TEST(PlannedGang, AnOwnerThatIsNotSubmittedIsAGangThatWaits) {
  const auto gang = planned(planned_job());
  ASSERT_TRUE(gang) << gang.error().message;
  EXPECT_EQ(gang->name_space, "lab");
  EXPECT_EQ(gang->name, "train");
  EXPECT_EQ(gang->tasks, 2U);
  EXPECT_EQ(gang->task_gpus, 2U);
  EXPECT_EQ(gang->declared, seconds(60));
  EXPECT_EQ(gang->state, CensusGang::State::kWaiting);
}

TEST(PlannedGang, WhatWouldNotWaitForFairleadIsRefusedWithTheReason) {
  Json theirs = planned_job();
  theirs["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler";
  EXPECT_EQ(planned(theirs).error().message,
            "its pods must have schedulerName: fairlead, and must not name their gang");
  Json grouped = planned_job();
  grouped["spec"]["template"]["metadata"]["annotations"]["fairlead.dev/gang"] = "g";
  EXPECT_EQ(planned(grouped).error().message, planned(theirs).error().message);
  Json held = planned_job();
  held["spec"]["suspend"] = true;
  EXPECT_EQ(planned(held).error().message,
            "it would not start: it is suspended, or has fairlead.dev/hold: \"true\"");
  Json idle = planned_job();
  idle["spec"]["parallelism"] = 0;
  EXPECT_EQ(planned(idle).error().message, "it has no pods");
  const auto joined =
      planned_gang(*find_owner_kind("trainer.kubeflow.org/v1alpha1", "TrainJob"), planned_job());
  EXPECT_EQ(joined.error().message,
            "another object describes the pods of a TrainJob, once it is submitted");
}

TEST_F(CensusTest, AServerThatIsAwayIsAnError) {
  server_.go_away(seconds(1000));
  const auto door = server_.open();
  EXPECT_FALSE(take_census(*door, door->now() + seconds(20), {}));
}

}  // namespace
}  // namespace fairlead
