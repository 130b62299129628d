// The speeds that agents report for pods, and their way to the engine.

#include "fairlead/pods/learned_speeds.h"
#include "fairlead/pods/pod_progress.h"
#include "fairlead/pods/testing_scheduler.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead {
namespace {

TEST(PodProgress, IsReadAsItWasWritten) {
  const auto progress = parse_pod_progress(progress_text({11.834, {1200, 50'000, "steps"}}));
  ASSERT_TRUE(progress.has_value());
  EXPECT_NEAR(progress->unit_per_s, 11.83, 0.01);
  EXPECT_EQ(progress->progress.done, 1200);
  EXPECT_EQ(progress->progress.total, 50'000);
  EXPECT_EQ(progress->progress.unit, "steps");
}

TEST(PodProgress, OfOtherTextsThereIsNone) {
  for (const char* text :
       {"", " ", "11.8", "11.8 steps", "0 100 0 steps", "-3 100 0 steps", "nan 100 0 steps",
        "inf 100 0 steps", "1e300 100 0 steps", "11.8 -1 0 steps", "11.8 1e300 0 steps",
        "11.8 100 1e300 steps", "11.8 100 0", "11.8 100 0 \x1b[2J", "11.8 100 0 <b>steps</b>",
        "11.8 100 0 stepsstepsstepssteps", "{\"steps\": 3}", "steps 100 0 11.8"}) {
    EXPECT_FALSE(parse_pod_progress(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_pod_progress(std::string(1 << 20, '1')).has_value());
}

class SpeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.add_node({.name = "v", .gpus = 4, .product = "Tesla-V100-SXM2-16GB"});
    server_.add_node({.name = "k", .gpus = 4, .product = "Tesla-K80"});
  }
  void submit(const std::string& name, const std::string& product, std::int64_t pods = 1) {
    const Json containers =
        Json::array({{{"name", "train"},
                      {"image", "lab/torch:" + name},
                      {"command", {"python", "train.py", "--seed", name.substr(1)}},
                      {"resources", {{"limits", {{"nvidia.com/gpu", "2"}}}}}}});
    server_.add_job({.name_space = "lab",
                     .name = name,
                     .pods = pods,
                     .gpus = 2,
                     .pod_spec = {{"containers", containers},
                                  {"nodeSelector", {{"nvidia.com/gpu.product", product}}}}});
  }
  void report(const std::string& job, const std::string& text, const std::string& index = "0") {
    const std::string path = "/api/v1/namespaces/lab/pods";
    const FakeAnswer pods = server_.act("GET", path);
    for (const Json& pod : json_at(pods.body, {"items"})) {
      const std::string& name = text_at(pod, {"metadata", "name"});
      if (!name.starts_with(job + "-" + index)) continue;
      server_.act("PATCH", path + "/" + name,
                  {{"metadata", {{"annotations", {{kProgressOf, text}}}}}});
    }
  }
  // "V100 x2: 1.00" for each learned speed.
  static std::vector<std::string> learned(const Scheduler& live) {
    std::vector<std::string> speeds;
    for (const LearnedSpeed& speed : live.learned()) {
      speeds.push_back(fmt::format("{} x{}: {:.2f}", live.tables().cluster.type_names[speed.type],
                                   speed.measured.gpus, speed.per_gpu));
    }
    return speeds;
  }

  FakeServer server_{1};
};

using Texts = std::vector<std::string>;

TEST_F(SpeedsTest, AreThoseOfTheModelRelativeToTheFirst) {
  submit("a1", "Tesla-K80");
  submit("a2", "Tesla-V100-SXM2-16GB");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  EXPECT_EQ(learned(live), Texts{});
  report("a1", "10 100 0 steps");
  live.run_for(seconds(120));
  EXPECT_EQ(learned(live), Texts{"K80 x2: 1.00"});
  report("a2", "48 100 0 steps");
  live.run_for(seconds(120));
  EXPECT_EQ(learned(live), (Texts{"K80 x2: 1.00", "V100 x2: 4.80"}));
  report("a1", "10.3 200 0 steps");
  live.run_for(seconds(20));
  EXPECT_EQ(learned(live)[0], "K80 x2: 1.00") << "so little is no news";
  report("a1", "12 200 0 steps");
  live.run_for(seconds(20));
  EXPECT_EQ(learned(live)[0], "K80 x2: 1.20");
}

TEST_F(SpeedsTest, AGangHasTheSpeedOfItsFirstPodThatReports) {
  submit("a1", "Tesla-V100-SXM2-16GB", 2);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  report("a1", "20 100 0 steps", "1");
  live.run_for(seconds(120));
  EXPECT_EQ(learned(live), Texts{"V100 x4: 1.00"});
  report("a1", "10 100 0 steps", "0");
  live.run_for(seconds(20));
  EXPECT_EQ(learned(live), Texts{"V100 x4: 0.50"});
}

TEST_F(SpeedsTest, HostileTextsAreIgnored) {
  submit("a1", "Tesla-K80");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  for (const char* text : {"-1 100 0 steps", "1e300 1 0 steps", "x", "nan nan nan steps"}) {
    report("a1", text);
    live.run_for(seconds(70));
    EXPECT_EQ(learned(live), Texts{}) << text;
    EXPECT_EQ(live.state("lab/a1"), JobState::kRunning);
  }
}

TEST_F(SpeedsTest, TheTotalThatAProgramPrintsSaysHowMuchWorkIsLeft) {
  submit("a1", "Tesla-K80");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  report("a1", "10 100 1100 steps");
  live.run_for(seconds(1));
  EXPECT_EQ(live.reported_left(), seconds(100));
}

TEST(LearnedSpeeds, AreForgottenAfterThirtyDaysWithoutAScheduler) {
  FakeServer server(1);
  server.add_node({.name = "v", .gpus = 4, .product = "Tesla-V100-SXM2-16GB"});
  server.add_job({.name_space = "lab", .name = "a"});
  Scheduler live(server, "fifo:skip=true");
  live.run_for(seconds(10));
  const std::int64_t now = server.unix_ms();
  const auto speed_of = [&](const std::string& model, std::int64_t days) {
    return LearnedByName{.user = "lab",
                         .model = model,
                         .gpu_type = "V100",
                         .gpus = 1,
                         .asked = 1,
                         .rate_fixed = Rate::kOne,
                         .measurements = 1,
                         .last_unix_ms = now - days * 86'400'000};
  };
  LearnedByName broken = speed_of("broken", 0);
  broken.tier = 9;
  LearnedByName elsewhere = speed_of("elsewhere", 0);
  elsewhere.gpu_type = "H100";
  LearnedSpeeds speeds{.speeds = {speed_of("young", 29), speed_of("old", 31), broken, elsewhere}};
  live.teach(speeds, now);
  ASSERT_EQ(live.learned().size(), 1U);
  EXPECT_EQ(live.tables().models[live.learned()[0].model], "young");
  ASSERT_EQ(speeds.speeds.size(), 1U) << "for nodes that may come";
  EXPECT_EQ(speeds.speeds[0].model, "elsewhere");
}

}  // namespace
}  // namespace fairlead
