// GPUs by claims, alone and on a fake cluster.
#include "fairlead/pods/devices.h"

#include "fairlead/kube/fake_devices.h"
#include "fairlead/kube/fake_objects.h"
#include "fairlead/pods/testing_owners.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

Json class_with(const std::string& expression) {
  return {{"spec", {{"selectors", Json::array({{{"cel", {{"expression", expression}}}}})}}}};
}

// A claim's spec for that many devices of a class.
Json asks_for(std::int64_t count, const std::string& device_class = "gpu") {
  return {
      {"devices",
       {{"requests",
         Json::array({{{"name", "gpus"},
                       {"exactly", {{"deviceClassName", device_class}, {"count", count}}}}})}}}};
}

// The devices gpu-0, gpu-1, and so on of a node, and a part of a GPU.
Json slice_of(const std::string& node, int gpus, std::int64_t generation = 1) {
  Json devices = Json::array();
  for (int i = 0; i < gpus; ++i) {
    devices.push_back({{"name", fmt::format("gpu-{}", i)},
                       {"attributes",
                        {{"type", {{"string", "gpu"}}},
                         {"productName", {{"string", "NVIDIA H100 80GB HBM3"}}},
                         {"index", {{"int", i}}}}}});
  }
  devices.push_back({{"name", "mig-0"}, {"attributes", {{"type", {{"string", "mig"}}}}}});
  return {{"spec",
           {{"driver", "gpu.nvidia.com"},
            {"nodeName", node},
            {"pool", {{"name", node}, {"generation", generation}, {"resourceSliceCount", 1}}},
            {"devices", devices}}}};
}

constexpr const char* kWholeGpus =
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'";

class DevicesTest : public testing::Test {
 protected:
  static ReflectedChange change(const std::string& name_space, const std::string& name,
                                const Json& object) {
    return {.kind = ReflectedChange::Kind::kAdded,
            .name = {name_space, name},
            .object = std::make_shared<const Json>(object)};
  }
  void SetUp() override {
    devices_.on_class(change("", "gpu", class_with(kWholeGpus)));
    devices_.on_slice(change("", "slice", slice_of("n0", 4)));
  }
  void add_template(const Json& spec) {
    devices_.on_template(change("ann", "two", {{"spec", {{"spec", spec}}}}));
  }
  void add_claim(const std::string& name, const Json& spec, const Json& status = {}) {
    devices_.on_claim(
        change("ann", name,
               {{"metadata", {{"resourceVersion", "1"}}}, {"spec", spec}, {"status", status}}));
  }
  // Returns the GPUs that a pod of the template asks for; "claims": its claims stay as they are.
  std::string gpus() const {
    const Json object = {
        {"metadata", {{"namespace", "ann"}}},
        {"spec",
         {{"template",
           {{"spec",
             {{"containers", Json::array({{{"name", "main"}}})},
              {"resourceClaims",
               Json::array({{{"name", "gpu"}, {"resourceClaimTemplateName", "two"}}})}}}}}}}};
    const auto written = devices_.with_gpus(std::make_shared<const Json>(object));
    const Json& spec = json_at(*written, {"spec", "template", "spec"});
    if (spec.contains("resourceClaims")) return "claims";
    return text_at(spec["containers"][0], {"resources", "limits", "nvidia.com/gpu"});
  }

  Devices devices_;
};

TEST_F(DevicesTest, ClaimsForWholeGpusCountAsGpus) {
  EXPECT_EQ(gpus(), "claims") << "the template is not known";
  add_template(asks_for(2));
  EXPECT_EQ(gpus(), "2");
  add_template(asks_for(2, "other"));
  EXPECT_EQ(gpus(), "claims");
  for (const Json& more : {Json{{"allocationMode", "All"}}, Json{{"adminAccess", true}},
                           Json{{"selectors", Json::array({Json::object()})}}}) {
    Json asks = asks_for(2);
    asks["devices"]["requests"][0]["exactly"].update(more);
    add_template(asks);
    EXPECT_EQ(gpus(), "claims") << more;
  }
  Json constrained = asks_for(2);
  constrained["devices"]["constraints"] = Json::array({{{"matchAttribute", "numa"}}});
  add_template(constrained);
  EXPECT_EQ(gpus(), "claims");
}

TEST_F(DevicesTest, AClassSelectsByDriverAndTexts) {
  add_template(asks_for(1));
  for (const auto& [expression, is_read] : {
           std::pair("device.driver == \"gpu.nvidia.com\"", true),
           {kWholeGpus, true},
           {"device.driver == 'nic.example.com'", false},
           {"device.attributes['gpu.nvidia.com'].type == 'gpu'", false},
           {"device.driver == 'gpu.nvidia.com' || true", false},
           {"device.driver in ['gpu.nvidia.com']", false},
           {"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", false},
           {"", false},
       }) {
    devices_.on_class(change("", "gpu", class_with(expression)));
    EXPECT_EQ(gpus(), is_read ? "1" : "claims") << expression;
  }
}

TEST_F(DevicesTest, ANodeHasTheGpusOfTheNewestSlicesOfItsPools) {
  EXPECT_EQ(devices_.gpus_of("n0"), 4);
  EXPECT_EQ(devices_.product_of("n0"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(devices_.gpus_of("n1"), 0);
  devices_.on_slice(change("", "newer", slice_of("n0", 2, 2)));
  EXPECT_EQ(devices_.gpus_of("n0"), 2);
  devices_.on_slice({.kind = ReflectedChange::Kind::kDeleted, .name = {"", "newer"}});
  EXPECT_EQ(devices_.gpus_of("n0"), 4);
}

TEST_F(DevicesTest, AClaimGetsTheFirstFreeDevicesOfTheNode) {
  Pod pod{.uid = "p", .name_space = "ann", .name = "p"};
  pod.device_claims = {"mine"};
  const auto needs = [&](const std::string& node) {
    std::set<DeviceId> taken;
    return devices_.needs(pod, node, taken);
  };
  EXPECT_FALSE(needs("n0")) << "the claim does not exist";
  add_claim("mine", asks_for(2));
  ASSERT_TRUE(needs("n0"));
  EXPECT_EQ(needs("n0")->front().kind, DeviceRequest::Kind::kProtect);
  EXPECT_FALSE(needs("n1") && needs("n1")->front().kind == DeviceRequest::Kind::kAllocate);
  const auto protect = [&](const Json& status) {
    devices_.on_claim(
        change("ann", "mine",
               {{"metadata",
                 {{"resourceVersion", "2"},
                  {"finalizers", Json::array({"resource.kubernetes.io/delete-protection"})}}},
                {"spec", asks_for(2)},
                {"status", status}}));
  };
  const auto given = [](const std::string& device) {
    return Json{
        {"request", "gpus"}, {"driver", "gpu.nvidia.com"}, {"pool", "n0"}, {"device", device}};
  };
  protect({});
  add_claim("other", asks_for(1),
            {{"allocation", {{"devices", {{"results", Json::array({given("gpu-1")})}}}}}});
  const auto found = needs("n0");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1);
  EXPECT_EQ(found->front().kind, DeviceRequest::Kind::kAllocate);
  EXPECT_EQ(found->front().results[0].device.name, "gpu-0");
  EXPECT_EQ(found->front().results[1].device.name, "gpu-2");
  EXPECT_FALSE(needs("n1")) << "that node has none";
  const Json allocation = {
      {"devices", {{"results", Json::array({given("gpu-0"), given("gpu-2")})}}}};
  protect({{"allocation", allocation}, {"reservedFor", Json::array({{{"uid", "p"}}})}});
  EXPECT_TRUE(needs("n0")->empty());
  ASSERT_TRUE(needs("n1"));
  EXPECT_EQ(needs("n1")->front().kind, DeviceRequest::Kind::kRelease);
  protect({{"allocation", allocation}, {"reservedFor", Json::array({{{"uid", "q"}}})}});
  EXPECT_FALSE(needs("n0")) << "another pod has it";
}

// Makes the server serve devices, with nodes of four GPUs that no device plugin counts.
void add_claimable(FakeServer& server, int nodes) {
  serve_devices(server.store());
  Json gpu_class = class_with(kWholeGpus);
  gpu_class["metadata"]["name"] = "gpu";
  server.act("POST", kDeviceClasses, gpu_class);
  for (int i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    server.add_node({.name = name, .gpus = 0, .product = ""});
    Json slice = slice_of(name, 4);
    slice["metadata"]["name"] = "slice-" + name;
    server.act("POST", kSlices, slice);
  }
}

void add_shape(FakeServer& server, const std::string& user, std::int64_t gpus) {
  server.act("POST",
             fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", user),
             {{"metadata", {{"name", fmt::format("gpus-{}", gpus)}}},
              {"spec", {{"spec", asks_for(gpus)}}}});
}

// Each pod claims that many GPUs.
void add_claiming_job(FakeServer& server, const std::string& user, const std::string& name,
                      std::int64_t pods, std::int64_t gpus, Duration run) {
  const Json claim = {{"name", "gpu"}, {"resourceClaimTemplateName", fmt::format("gpus-{}", gpus)}};
  server.add_job({.name_space = user,
                  .name = name,
                  .pods = pods,
                  .gpus = 0,
                  .run = run,
                  .pod_spec = {{"resourceClaims", Json::array({claim})}}});
}

// Returns the devices that claims have; one twice: it was given twice.
std::vector<std::string> given(FakeServer& server) {
  std::vector<std::string> devices;
  for (const FakeObject& claim : server.store().list({std::string(kDeviceClaims), "", "", ""})) {
    for (const Json& result : json_at(*claim, {"status", "allocation", "devices", "results"}))
      devices.push_back(text_at(result, {"pool"}) + "/" + text_at(result, {"device"}));
  }
  return devices;
}

class ClaimedGpusTest : public OwnersTest {
 protected:
  void SetUp() override {
    server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
    add_claimable(server_, 4);
    add_shape(server_, "ann", 2);
  }
  void add_job(const std::string& name, std::int64_t pods, Duration run = {}) {
    add_claiming_job(server_, "ann", name, pods, 2, run);
  }
  std::size_t running() {
    std::size_t count = 0;
    for (const FakeObject& pod : server_.store().list({std::string(kPods), "ann", "", ""}))
      count += text_at(*pod, {"status", "phase"}) == "Running" ? 1U : 0U;
    return count;
  }
  std::size_t count_given() { return given(server_).size(); }
};

TEST_F(ClaimedGpusTest, GangsHaveTheirDevicesBeforeTheyAreBound) {
  Scheduler live(server_, "fifo:skip=true");
  add_job("a", 5, seconds(300));
  live.run_for(seconds(10));
  add_job("b", 3);
  live.run_for(seconds(10));
  add_job("c", 2);
  live.run_for(seconds(40));
  EXPECT_EQ(running(), 8) << "all 16 GPUs; c waits";
  EXPECT_EQ(count_given(), 16);
  live.run_for(seconds(400));
  EXPECT_EQ(running(), 5) << "a has ended, and its devices are free for c";
  EXPECT_EQ(count_given(), 10);
}

TEST_F(ClaimedGpusTest, AJobThatComesBeforeItsTemplateRunsOnceThatIsThere) {
  server_.act("DELETE", "/apis/resource.k8s.io/v1/namespaces/ann/resourceclaimtemplates/gpus-2");
  add_job("a", 2);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(30));
  EXPECT_EQ(running(), 0);
  add_shape(server_, "ann", 2);
  live.run_for(seconds(60));
  EXPECT_EQ(running(), 2);
}

TEST_F(ClaimedGpusTest, TurnsMoveDevicesFromGangToGang) {
  add_job("a", 8);
  add_job("b", 8);
  Scheduler live(server_, "gang-stride:quantum_s=120");
  for (int turn = 0; turn < 6; ++turn) {
    live.run_for(seconds(120));
    EXPECT_LE(count_given(), 16);
  }
  std::set<std::string> jobs;
  for (int s = 0; s < 300; s += 10) {
    live.run_for(seconds(10));
    for (const FakeObject& pod : server_.store().list({std::string(kPods), "ann", "", ""})) {
      if (text_at(*pod, {"status", "phase"}) == "Running")
        jobs.insert(text_at(*pod, {"metadata", "name"}).substr(0, 1));
    }
  }
  EXPECT_EQ(jobs, (std::set<std::string>{"a", "b"}));
}

// Gangs that claim their GPUs take turns on eight.
class TurnsWithClaims : public RunToTheEnd {
 public:
  TurnsWithClaims() {
    add_claimable(server, 2);
    for (const auto& [user, gpus] : {std::pair("ann", 3), {"bob", 4}, {"cy", 3}})
      add_shape(server, user, gpus);
    add_claiming_job(server, "ann", "x", 1, 3, seconds(60));
    add_claiming_job(server, "bob", "y", 1, 4, seconds(60));
    add_claiming_job(server, "cy", "z", 2, 3, seconds(60));
  }

 protected:
  std::string problem() override {
    const std::vector<std::string> devices = given(server);
    const std::set<std::string> different(devices.begin(), devices.end());
    return devices.size() == different.size() ? refusal(server) : "a device was given twice";
  }
};

TEST(ClaimedGpusFaults, GangsComeToTheirEndsWhateverCallGoesWrong) {
  try_faults<TurnsWithClaims>(23);
}

TEST(ClaimedGpusFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<TurnsWithClaims>(1, 7);
}

TEST(ClaimedGpusFaults, GangsComeToTheirEndsThroughOutages) {
  try_outages<TurnsWithClaims>(seconds(1), seconds(43), seconds(120));
}

}  // namespace
}  // namespace fairlead
