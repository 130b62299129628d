// Gangs of pods with persistent volume claims.
#include "fairlead/pods/gang_volumes.h"

#include "fairlead/base/rng.h"
#include "fairlead/pods/testing_owners.h"
#include "fairlead/pods/testing_volumes.h"

#include <gtest/gtest.h>

#include <array>

namespace fairlead {
namespace {

class VolumesTest : public OwnersTest {
 protected:
  void SetUp() override {
    add_operators(server_);
    for (int i = 0; i < 4; ++i) {
      server_.add_node({.name = fmt::format("n{}", i),
                        .gpus = 4,
                        .labels = {{"topology.kubernetes.io/zone", i < 2 ? "a" : "b"}}});
    }
    add_class(server_, "local", true, "kubernetes.io/no-provisioner");
    add_class(server_, "wait", true);
    add_class(server_, "now", false);
    server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
  }
  void add_job(const std::string& name, const Json& pod_spec, std::int64_t pods = 1,
               Duration run = {}) {
    server_.add_job({.name_space = "ann",
                     .name = name,
                     .pods = pods,
                     .gpus = 2,
                     .run = run,
                     .pod_spec = pod_spec});
  }
  // Adds a pod of a gang of two, whose controller makes it again.
  void add_member(const std::string& name, const std::string& claim) {
    Json pod = fake_template(2, {{std::string(kGangOf), "pair"}, {std::string(kGangSize), "2"}});
    pod["metadata"]["name"] = name;
    pod["spec"].update(with_claim(claim));
    ASSERT_EQ(server_.act("POST", "/api/v1/namespaces/ann/pods", pod).status, 201);
  }
  void settle(Duration d) { server_.run_until(server_.now() + d); }
  std::vector<Json> pods() {
    const Json list = server_.act("GET", "/api/v1/namespaces/ann/pods").body;
    return json_at(list, {"items"}).get<std::vector<Json>>();
  }
  // Returns the nodes of the running pods, in the order of the pods' names.
  std::vector<std::string> nodes() {
    std::vector<std::string> found;
    for (const Json& pod : pods()) {
      if (text_at(pod, {"status", "phase"}) == "Running")
        found.push_back(text_at(pod, {"spec", "nodeName"}));
    }
    return found;
  }
  // Returns the reason of the first pod that waits.
  std::string waits_for() {
    for (const Json& pod : pods()) {
      const Json& condition = item_at(pod, {"status", "conditions"}, "type", "PodScheduled");
      if (text_at(pod, {"spec", "nodeName"}).empty()) return text_at(condition, {"message"});
    }
    return {};
  }
  std::string selected_node(const std::string& claim) {
    const FakeObject found = server_.store().find({std::string(kClaims), "ann", claim});
    return found ? text_at(*found, {"metadata", "annotations", kSelectedNode}) : "no claim";
  }
};

TEST_F(VolumesTest, APodIsBoundToTheNodeOfItsLocalVolume) {
  add_local_volume(server_, "disk", "n3", "now");
  add_claim(server_, "ann", "data", "now");
  settle(seconds(5));
  add_job("j", with_claim("data"));
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n3"});
  EXPECT_EQ(live.places(), 1) << "the policy knows where the volume is";
}

TEST_F(VolumesTest, EachPodOfAGangGoesToItsOwnVolume) {
  add_local_volume(server_, "disk0", "n3", "now");
  add_claim(server_, "ann", "data0", "now");
  settle(seconds(5));
  add_local_volume(server_, "disk1", "n1", "now");
  add_claim(server_, "ann", "data1", "now");
  settle(seconds(5));
  add_member("p0", "data0");
  add_member("p1", "data1");
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), (std::vector<std::string>{"n3", "n1"}));
  EXPECT_EQ(live.places(), 1);
}

TEST_F(VolumesTest, AZoneOfAVolumeIsThatOfItsPod) {
  server_.act(
      "POST", kVolumes,
      {{"metadata", {{"name", "disk"}, {"labels", {{"topology.kubernetes.io/zone", "c__b"}}}}},
       {"spec", {{"storageClassName", "now"}, {"capacity", {{"storage", "20Gi"}}}}}});
  add_claim(server_, "ann", "data", "now");
  settle(seconds(5));
  add_job("j", with_claim("data"));
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n2"});
}

TEST_F(VolumesTest, APodWaitsForItsClaimAndTheReasonIsInItsCondition) {
  struct Case {
    const char* storage_class;  // null: the claim does not exist
    const char* why;
  };
  for (const Case& c : std::initializer_list<Case>{
           {nullptr, "claim data does not exist"},
           {"", "claim data is not bound yet"},
           {"gone", "claim data is not bound, and its storage class gone does not exist"},
           {"local", "no node with GPUs can have the volume of claim data"}}) {
    SCOPED_TRACE(c.why);
    FakeServer server(1);
    server.add_node({.name = "n", .gpus = 4});
    add_class(server, "local", true, "kubernetes.io/no-provisioner");
    if (c.storage_class != nullptr) add_claim(server, "ann", "data", c.storage_class);
    server.add_job({.name_space = "ann", .name = "j", .gpus = 4, .pod_spec = with_claim("data")});
    Scheduler live(server, "fifo");
    live.run_for(seconds(30));
    EXPECT_EQ(live.places(), 0);
    EXPECT_EQ(live.world().missing("ann/j"), c.why);
    const Json list = server.act("GET", "/api/v1/namespaces/ann/pods").body;
    const Json& condition =
        item_at(json_at(list, {"items"})[0], {"status", "conditions"}, "type", "PodScheduled");
    EXPECT_EQ(text_at(condition, {"message"}), c.why);
    server.add_job({.name_space = "bob", .name = "b", .gpus = 4, .run = seconds(10)});
    live.run_for(seconds(30));
    EXPECT_EQ(live.state("bob/b"), JobState::kFinished) << "it holds no GPUs meanwhile";
    add_class(server, "now", false);
    server.act("DELETE", "/api/v1/namespaces/ann/persistentvolumeclaims/data");
    add_claim(server, "ann", "data", "now");
    live.run_for(seconds(30));
    EXPECT_EQ(live.state("ann/j"), JobState::kRunning);
    EXPECT_EQ(refusal(server), "");
  }
}

TEST_F(VolumesTest, AVolumeIsMadeForTheNodeOfThePlacementAndThePodWaitsForIt) {
  add_claim(server_, "ann", "data", "wait");
  add_job("j", with_claim("data"));
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(milliseconds(800));
  EXPECT_EQ(selected_node("data"), "n0");
  EXPECT_EQ(text_at(pods()[0], {"spec", "nodeName"}), "") << "its volume does not exist yet";
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n0"});
  EXPECT_EQ(live.places(), 1);
}

TEST_F(VolumesTest, AVolumeThatIsNotMadeHoldsNoGpus) {
  server_.delays().provision = {seconds(100), seconds(100)};
  for (int i = 1; i < 4; ++i) server_.act("DELETE", fmt::format("/api/v1/nodes/n{}", i));
  add_claim(server_, "ann", "data", "wait");
  add_job("j", with_claim("data"));
  Scheduler live(server_, "fifo");
  live.run_for(seconds(20));
  EXPECT_EQ(waits_for(), "claim data waits for its volume on node n0");
  rival(4, seconds(30));
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
  live.run_for(seconds(100));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n0"});
}

TEST_F(VolumesTest, AClassMakesVolumesInItsTopologiesAlone) {
  const Json zone = {{"key", "topology.kubernetes.io/zone"}, {"values", Json::array({"b"})}};
  add_class(server_, "zonal", true, "disks.example",
            Json::array({{{"matchLabelExpressions", Json::array({zone})}}}));
  add_claim(server_, "ann", "data", "zonal");
  add_job("j", with_claim("data"));
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n2"});
}

TEST_F(VolumesTest, FreeLocalVolumesAreGivenToTheClaimsOfAGang) {
  add_local_volume(server_, "disk0", "n2");
  add_local_volume(server_, "disk1", "n3");
  add_claim(server_, "ann", "data0", "local");
  add_claim(server_, "ann", "data1", "local");
  add_member("p0", "data0");
  add_member("p1", "data1");
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(live.places(), 1) << "node n2 has room for one pod of it, although it has 4 GPUs";
  EXPECT_EQ(refusal(server_), "");
}

TEST_F(VolumesTest, AGangWithoutAVolumeForEachPodWaits) {
  add_local_volume(server_, "disk0", "n2");
  add_job("j", with_ephemeral("local"), 2);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(30));
  EXPECT_EQ(waits_for(), "the free volumes suffice for 1 of its 2 pods");
  add_local_volume(server_, "disk1", "n2");
  live.run_for(seconds(30));
  EXPECT_EQ(nodes(), (std::vector<std::string>{"n2", "n2"}));
}

TEST_F(VolumesTest, PodsOfAGangShareAVolume) {
  add_local_volume(server_, "disk", "n2");
  add_claim(server_, "ann", "data", "local");
  add_job("j", with_claim("data"), 2);
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes(), (std::vector<std::string>{"n2", "n2"}));
  EXPECT_EQ(live.places(), 1);
}

TEST_F(VolumesTest, APodWithoutGpusWaitsForItsOwnVolume) {
  add_claim(server_, "ann", "data", "wait");
  const Json gpus = {{"template", fake_template(2)}, {"replicas", 1}};
  Json rider = {{"template", fake_template(0)}, {"replicas", 1}};
  rider["template"]["spec"].update(with_claim("data"));
  ASSERT_EQ(server_
                .act("POST", "/apis/kubeflow.org/v1/namespaces/ann/pytorchjobs",
                     {{"metadata", {{"name", "train"}}},
                      {"spec", {{"pytorchReplicaSpecs", {{"Master", rider}, {"Worker", gpus}}}}}})
                .status,
            201);
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  for (int i = 0; i < 40; ++i) {
    live.run_for(milliseconds(500));
    ASSERT_EQ(refusal(server_), "") << "no pod is bound before its claim";
  }
  EXPECT_EQ(nodes(), (std::vector<std::string>{"n0", "n0"}));
}

TEST_F(VolumesTest, ANewVolumeElsewhereGivesAWaitingGangAPlace) {
  server_.add_job({.name_space = "bob", .name = "full", .gpus = 4});
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(10));
  add_local_volume(server_, "disk0", "n0");
  add_claim(server_, "ann", "data", "local");
  add_job("j", with_claim("data"));
  live.run_for(seconds(30));
  EXPECT_EQ(live.state("ann/j"), JobState::kWaiting) << "others have the GPUs of n0";
  EXPECT_EQ(live.world().shortage(*live.job("ann/j")),
            "of 3 nodes with free GPUs for a pod of it, 3 cannot have its volumes");
  add_local_volume(server_, "disk1", "n1");
  live.run_for(seconds(10));
  EXPECT_EQ(nodes(), std::vector<std::string>{"n1"});
}

TEST_F(VolumesTest, EphemeralVolumesAreMadeForEachTurn) {
  add_job("j", with_ephemeral("wait"), 4);
  server_.add_job({.name_space = "bob", .name = "b", .pods = 4, .gpus = 4, .run = seconds(60)});
  Scheduler live(server_, "gang-stride:quantum_s=40");
  for (int i = 0; i < 120; ++i) {
    live.run_for(seconds(5));
    ASSERT_EQ(refusal(server_), "");
  }
  EXPECT_EQ(live.state("bob/b"), JobState::kFinished);
  EXPECT_EQ(nodes().size(), 4U);
}

TEST_F(VolumesTest, AClaimOfTheSameNameThatIsNotThePodsKeepsIt) {
  add_claim(server_, "ann", "p0-scratch", "wait");
  Json pod = fake_template(2);
  pod["metadata"]["name"] = "p0";
  pod["spec"].update(with_ephemeral("wait"));
  server_.act("POST", "/api/v1/namespaces/ann/pods", pod);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(30));
  EXPECT_EQ(waits_for(), "claim p0-scratch was not made for its pod");
}

TEST_F(VolumesTest, AClaimForOnePodHasOne) {
  add_claim(server_, "ann", "data", "now", "ReadWriteOncePod");
  settle(seconds(5));
  add_job("first", with_claim("data"), 1, seconds(60));
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  add_job("second", with_claim("data"));
  live.run_for(seconds(30));
  EXPECT_EQ(nodes().size(), 1U);
  EXPECT_TRUE(
      waits_for().starts_with("claim data is for one pod (ReadWriteOncePod), and pod first-"))
      << waits_for();
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/second"), JobState::kRunning);
  add_job("wide", with_claim("data"), 2);
  live.run_for(seconds(30));
  EXPECT_EQ(live.world().missing("ann/wide"),
            "claim data is for one pod (ReadWriteOncePod), and 2 of it use it");
}

// Gangs with volumes of each kind that take turns on eight GPUs.
class TurnsWithVolumes : public RunToTheEnd {
 public:
  TurnsWithVolumes() {
    for (const std::string name : {"a", "b"}) server.add_node({.name = name, .gpus = 4});
    add_class(server, "local", true, "kubernetes.io/no-provisioner");
    add_class(server, "wait", true);
    add_local_volume(server, "disk0", "a");
    add_local_volume(server, "disk1", "b");
    add_claim(server, "ann", "data", "local");
    add_claim(server, "bob", "data", "wait");
    add("ann", "x", 1, 3, with_claim("data"));
    add("bob", "y", 1, 4, with_claim("data"));
    add("cy", "z", 2, 3, with_ephemeral("wait"));
  }

 private:
  void add(const std::string& user, const std::string& name, int pods, int gpus,
           const Json& pod_spec) {
    server.add_job({.name_space = user,
                    .name = name,
                    .pods = pods,
                    .gpus = gpus,
                    .run = seconds(60),
                    .pod_spec = pod_spec});
  }
};

TEST(VolumesFaults, GangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<TurnsWithVolumes>(23); }

TEST(VolumesFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<TurnsWithVolumes>(1, 7);
}

TEST(VolumesFaults, GangsComeToTheirEndsThroughOutages) {
  try_outages<TurnsWithVolumes>(seconds(1), seconds(43), seconds(120));
}

// A world of nodes in two zones, with volumes of each kind, in which every job can run.
std::string run_random_world(std::uint64_t seed, const std::string& policy) {
  FakeServer server(seed);
  Rng rng = Rng(seed).split(7);
  const auto node = [&] { return fmt::format("n{}", rng.below(4)); };
  for (int i = 0; i < 4; ++i) {
    server.add_node({.name = fmt::format("n{}", i),
                     .gpus = 4,
                     .labels = {{"topology.kubernetes.io/zone", i < 2 ? "a" : "b"}}});
  }
  const Json zone = {{"key", "topology.kubernetes.io/zone"}, {"values", Json::array({"b"})}};
  add_class(server, "local", true, "kubernetes.io/no-provisioner");
  add_class(server, "wait", true);
  add_class(server, "now", false);
  add_class(server, "zonal", true, "disks.example",
            Json::array({{{"matchLabelExpressions", Json::array({zone})}}}));
  constexpr std::array<const char*, 4> kClassNames = {"local", "wait", "now", "zonal"};
  for (int i = 0; i < 12; ++i) {
    const std::string user = fmt::format("u{}", rng.below(3));
    const std::string name = fmt::format("j{}", i);
    const std::string storage = kClassNames[rng.below(kClassNames.size())];
    FakeJob job{.name_space = user,
                .name = name,
                .gpus = static_cast<std::int64_t>(1 + rng.below(4)),
                .run = seconds(static_cast<std::int64_t>(10 + rng.below(60)))};
    switch (rng.below(3)) {
      case 0:  // none, and wide
        job.pods = static_cast<std::int64_t>(1 + rng.below(4));
        break;
      case 1:
        if (storage == "local") add_local_volume(server, "disk-" + name, node());
        add_claim(server, user, name, storage);
        job.pod_spec = with_claim(name);
        break;
      default:
        // Two pods with volumes of one node each, or of any.
        job.pods = storage == "local" ? 1 : 2;
        if (storage == "local") add_local_volume(server, "disk-" + name, node());
        job.pod_spec = with_ephemeral(storage);
    }
    server.at(Time{static_cast<std::int64_t>(rng.below(60'000))},
              [&server, job] { server.add_job(job); });
  }
  // Half of the worlds have faults.
  if (seed % 2 == 0) {
    server.set_rates({.conflict = 0.02,
                      .too_many = 0.01,
                      .internal = 0.02,
                      .lost_request = 0.005,
                      .lost_answer = 0.005,
                      .late = 0.002,
                      .stream_ends = 0.05,
                      .stream_breaks = 0.05});
  }
  Scheduler live(server, policy);
  while (server.now() < Time{} + seconds(3 * 3600)) {
    if (!live.step()) return "the engine stopped";
    if (std::string problem = refusal(server); !problem.empty()) return problem;
    const bool all_came = server.now() > Time{60'000};
    if (all_came && all_jobs_done(server)) return {};
  }
  std::string left = "not all have ended:";
  for (JobId job : ids<JobId>(live.tables().jobs.size())) {
    const std::string name(live.tables().names[job]);
    if (!live.tables().jobs.is_here(job)) continue;
    left += fmt::format(" {} in state {} {} {};", name, static_cast<int>(live.state(name)),
                        live.world().missing(name), live.world().shortage(job));
  }
  for (const auto& [name, why] : live.world().refused()) left += name + " " + why;
  return left;
}

TEST(VolumesFaults, GangsOfRandomWorldsComeToTheirEnds) {
  std::uint64_t seed = 0;
  for (const std::string policy :
       {"fifo:skip=true", "fairlead:round_s=60,switch_s=1,window_s=300", "gang-stride:quantum_s=30",
        "tiresias", "gandiva-fair", "hadar", "las", "slurm"}) {
    ++seed;
    EXPECT_EQ(run_random_world(seed, policy), "") << policy << " seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead
