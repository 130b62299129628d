#include "fairlead/pods/volumes.h"

#include "fairlead/pods/seats.h"

#include <gtest/gtest.h>

#include <utility>

namespace fairlead {
namespace {

ReflectedChange change(const std::string& name_space, const std::string& name,
                       const std::string& object) {
  return {.kind = ReflectedChange::Kind::kAdded,
          .name = {name_space, name},
          .object = std::make_shared<const Json>(*parsed_json(object))};
}

class VolumesOfClassesTest : public testing::Test {
 protected:
  void SetUp() override {
    volumes_.on_class(change("", "local",
                             R"({"provisioner": "kubernetes.io/no-provisioner",
                                 "volumeBindingMode": "WaitForFirstConsumer"})"));
  }
  void add_volume(const std::string& name, const std::string& size, const std::string& more = "",
                  const std::string& labels = "{}") {
    volumes_.on_volume(
        change("", name,
               R"({"metadata": {"resourceVersion": "7", "labels": )" + labels +
                   R"(}, "status": {"phase": "Available"}, "spec": {"storageClassName": "local",
                "accessModes": ["ReadWriteOnce"], "capacity": {"storage": ")" +
                   size + R"("})" + more + "}}"));
  }
  void add_claim(const std::string& more = "") {
    volumes_.on_claim(change("ann", "data",
                             R"({"metadata": {"uid": "u", "resourceVersion": "3"},
                                 "spec": {"storageClassName": "local",
                                          "accessModes": ["ReadWriteOnce"],
                                          "resources": {"requests": {"storage": "10Gi"}})" +
                                 more + "}}"));
  }
  // Returns the volume that the claim would get on the node; "none" if there is none.
  std::string choice(const std::set<std::string>& taken = {}) const {
    const std::string name_space = "ann";
    const std::string pod = "p";
    VolumeChoices choices{.taken = taken};
    const auto needs = volumes_.needs({name_space, pod, claims_}, node_, choices);
    return !needs ? "none" : needs->empty() ? "" : needs->front().volume;
  }

  const std::vector<UsedClaim> claims_ = {{.name = "data"}};
  Node node_{.name = "n1", .labels = {{"kubernetes.io/hostname", "n1"}}};
  Volumes volumes_;
};

TEST_F(VolumesOfClassesTest, TheSmallestFreeVolumeThatSuitsIsChosen) {
  add_claim();
  add_volume("small", "9Gi");
  EXPECT_EQ(choice(), "none");
  add_volume("large", "100Gi");
  EXPECT_EQ(choice(), "large");
  add_volume("fits", "10Gi");
  EXPECT_EQ(choice(), "fits");
  EXPECT_EQ(choice({"fits"}), "large");
  add_volume("fits", "10Gi", R"(, "claimRef": {"namespace": "bob", "name": "other"})");
  EXPECT_EQ(choice(), "large") << "another claim has it";
}

TEST_F(VolumesOfClassesTest, AVolumeSuitsByModeFormLabelsAndNode) {
  const std::initializer_list<std::pair<const char*, bool>> cases = {
      {"", true},
      {R"(, "volumeMode": "Block")", false},
      {R"(, "accessModes": ["ReadOnlyMany"])", false},
      {R"(, "accessModes": ["ReadOnlyMany", "ReadWriteOnce"])", true},
      {R"(, "storageClassName": "other")", false},
      {R"(, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
           {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}]}})",
       true},
      {R"(, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
           {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]}]}})",
       false},
      {R"(, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
           {"key": "kubernetes.io/hostname", "operator": "Near", "values": ["n1"]}]}]}})",
       false}};
  add_claim();
  for (const auto& [more, suits] : cases) {
    add_volume("v", "10Gi", more);
    EXPECT_EQ(choice(), suits ? "v" : "none") << more;
  }
  add_volume("v", "10Gi", "", R"({"disk": "nvme"})");
  add_claim(R"(, "selector": {"matchLabels": {"disk": "nvme"}})");
  EXPECT_EQ(choice(), "v");
  add_claim(R"(, "selector": {"matchLabels": {"disk": "hdd"}})");
  EXPECT_EQ(choice(), "none");
}

// The driver can make 20 GiB on nodes of the pool a, and 5 GiB on nodes of the pool b. The claim asks for 10 GiB. A
// choice of "" is a volume to be made.
TEST_F(VolumesOfClassesTest, AVolumeIsMadeWhereItsDriverHasTheStorage) {
  const auto capacity = [&](const std::string& pool, const std::string& amounts) {
    volumes_.on_capacity(
        change("kube-system", pool,
               R"({"storageClassName": "local", "nodeTopology": {"matchLabels": {"pool": ")" +
                   pool + R"("}}, )" + amounts + "}"));
  };
  volumes_.on_class(change("", "local",
                           R"({"provisioner": "disks.example",
                               "volumeBindingMode": "WaitForFirstConsumer"})"));
  add_claim();
  node_.labels["pool"] = "a";
  EXPECT_EQ(choice(), "") << "the driver reports no capacities";
  const ReflectedChange driver =
      change("", "disks.example", R"({"spec": {"storageCapacity": true}})");
  volumes_.on_driver(driver);
  EXPECT_EQ(choice(), "none") << "none of its capacities is of the node";
  capacity("a", R"("capacity": "20Gi")");
  capacity("b", R"("capacity": "5Gi")");
  EXPECT_EQ(choice(), "");
  node_.labels["pool"] = "b";
  EXPECT_EQ(choice(), "none");
  capacity("b", R"("capacity": "20Gi", "maximumVolumeSize": "5Gi")");
  EXPECT_EQ(choice(), "none") << "of one volume";
  capacity("b", R"("capacity": "20Gi", "maximumVolumeSize": "10Gi")");
  EXPECT_EQ(choice(), "");
  node_.labels["pool"] = "c";
  EXPECT_EQ(choice(), "none");
  volumes_.on_driver({.kind = ReflectedChange::Kind::kDeleted, .name = driver.name, .object = {}});
  EXPECT_EQ(choice(), "");
}

TEST_F(VolumesOfClassesTest, AnAnswerIsTakenUnlessALaterStateIsKnown) {
  add_claim();
  add_volume("v", "10Gi");
  const VolumeRequest request{.claim = {"ann", "data"}, .volume = "v", .version = "7"};
  const Json taken = *parsed_json(R"({"metadata": {"resourceVersion": "8"}, "spec": {
      "storageClassName": "local", "claimRef": {"namespace": "ann", "name": "data", "uid": "u"}}})");
  volumes_.take_answer(request, taken);
  EXPECT_EQ(choice(), "") << "the volume is the claim's, and is asked for once";
  const std::string name_space = "ann";
  const std::string pod = "p";
  EXPECT_EQ(volumes_.pending({name_space, pod, claims_}),
            "claim data waits to be bound to volume v");
  volumes_.take_answer(request, *parsed_json(R"({"spec": {"storageClassName": "local"}})"));
  EXPECT_EQ(choice(), "");
}

TEST(Seats, NeighboursSitTogetherAndEachWhereItSuits) {
  const auto all = [](std::size_t, std::size_t) { return true; };
  EXPECT_EQ(seats(4, {2, 1, 1}, all), (std::vector<std::size_t>{0, 0, 1, 2}));
  // The first pod takes the place of the second, and moves.
  const auto picky = [](std::size_t pod, std::size_t place) { return pod == 0 || place == 0; };
  EXPECT_EQ(seats(2, {1, 1}, picky), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(seats(3, {1, 1}, all), (std::vector<std::size_t>{0, 1, 2})) << "one has no place";
  EXPECT_EQ(seats(2, {2}, [](std::size_t pod, std::size_t) { return pod == 0; }),
            (std::vector<std::size_t>{0, 0}))
      << "one sits where it does not suit";
}

TEST(Seats, AllSitWhereItSuitsIfThatIsPossible) {
  // Pod i suits places i and i + 1, which have one room each; the last one suits only the last place but one.
  const auto chain = [](std::size_t pod, std::size_t place) {
    return pod == 4 ? place == 3 : place == pod || place == pod + 1;
  };
  const std::vector<std::size_t> at = seats(5, {1, 1, 1, 1, 1}, chain);
  for (std::size_t pod = 0; pod < at.size(); ++pod) EXPECT_TRUE(chain(pod, at[pod])) << pod;
}

}  // namespace
}  // namespace fairlead
