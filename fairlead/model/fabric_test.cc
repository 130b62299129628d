#include "fairlead/model/fabric.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/model/rack_texts.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Cluster cluster(const std::string& yaml) { return parse_cluster_yaml(yaml, "test").value(); }

double gbps(const Cluster& cluster, const std::vector<Slice>& gang) {
  return Fabric(cluster).route(cluster, gang).gbps;
}

std::vector<double> shared(const Cluster& cluster, const std::vector<Slice>& gang) {
  const Fabric fabric(cluster);
  std::vector<LinkId> links;
  fabric.cross(cluster, gang, links);
  std::vector<double> gbps;
  for (LinkId link : links) gbps.push_back(fabric.capacities()[link]);
  return gbps;
}

using Gbps = std::vector<double>;

TEST(Fabric, AGangOfMixedNodesHasTheSlowestCard) {
  const Cluster mixed = cluster(
      "links: {node_gbps: 1000, rack_gbps: 100, spine_gbps: 100}\n"
      "racks: [{nodes: [{count: 2, gpu_type: V100, gpus: 4},"
      "                 {count: 2, gpu_type: K80, gpus: 4, nic_gbps: 10, node_gbps: 50}]}]");
  EXPECT_EQ(gbps(mixed, {{NodeId(0), 4}, {NodeId(1), 4}}), 100);
  EXPECT_EQ(gbps(mixed, {{NodeId(2), 4}, {NodeId(3), 4}}), 10);
  EXPECT_EQ(gbps(mixed, {{NodeId(1), 4}, {NodeId(2), 4}}), 10);
  EXPECT_EQ(gbps(mixed, {{NodeId(2), 4}}), 50);
  EXPECT_EQ(gbps(mixed, {{NodeId(0), 4}}), 1000);
  EXPECT_EQ(shared(mixed, {{NodeId(1), 1}, {NodeId(2), 1}}), (Gbps{100, 10}));
}

TEST(Fabric, AGangHasTheCardsThatItsGpusReach) {
  const auto with = [](int nics) {
    return cluster(
        fmt::format("links: {{pair_gbps: 9000, node_gbps: 9000}}\n"
                    "racks: [{{nodes: {{count: 2, gpu_type: A100, gpus: 8, nics: {},"
                    " nic_gbps: 50}}}}]",
                    nics));
  };
  const auto each = [](const Cluster& cluster, std::uint16_t gpus) {
    return gbps(cluster, {{NodeId(0), gpus}, {NodeId(1), gpus}});
  };
  const Cluster rails = with(8);
  EXPECT_EQ(each(rails, 1), 50);
  EXPECT_EQ(each(rails, 2), 100);
  EXPECT_EQ(each(rails, 8), 400);
  const Cluster shared_cards = with(4);
  EXPECT_EQ(each(shared_cards, 2), 50) << "two GPUs share a card";
  EXPECT_EQ(each(shared_cards, 4), 200);
  EXPECT_EQ(each(shared_cards, 8), 200);
  EXPECT_EQ(shared(rails, {{NodeId(0), 1}, {NodeId(1), 1}}), (Gbps{400, 400}));
}

TEST(Fabric, ADomainOfManyHostsHasItsOwnLinksAndAllItsCards) {
  const Cluster nvl = cluster(
      "links: {rack_gbps: 400}\n"
      "racks: [{count: 2, uplink_gbps: 14400, nodes: {count: 18, gpu_type: GB200, gpus: 4,"
      " domain: 18, pair_gbps: 7200, node_gbps: 7200, nics: 4, nic_gbps: 400}}]");
  EXPECT_EQ(nvl.hosts, 2U);
  EXPECT_EQ(nvl.best_tier(72), Tier::kNode);
  std::vector<Slice> whole;
  std::vector<Slice> both;
  for (std::uint32_t node = 0; node < 36; ++node) {
    if (node < 18) whole.push_back({NodeId(node), 4});
    both.push_back({NodeId(node), 4});
  }
  EXPECT_EQ(gbps(nvl, whole), 7200);
  EXPECT_TRUE(shared(nvl, whole).empty());
  EXPECT_EQ(gbps(nvl, {{NodeId(0), 4}, {NodeId(18), 4}}), 4 * 400);
  EXPECT_EQ(gbps(nvl, both), 7200);
  EXPECT_EQ(shared(nvl, both), (Gbps{72 * 400, 14400, 72 * 400, 14400}));
}

constexpr const char* kThreeLevels =
    "links: {node_gbps: 1000, rack_gbps: 100}\n"
    "levels: [leaf, pod, core]\n"
    "switches: [{name: all, switches: [{name: pod, count: 2, uplink_gbps: 70,"
    " racks: [{name: leaf, count: 2, oversubscription: 2, nodes: {count: 2, gpu_type: A, gpus: "
    "8}}]}]}]";

TEST(Fabric, AGangCrossesTheUplinksUpToTheSwitchThatJoinsIt) {
  const Cluster tree = cluster(kThreeLevels);
  EXPECT_EQ(tree.levels, (std::vector<std::string>{"leaf", "pod", "core"}));
  EXPECT_EQ(tree.racks[RackId(3)].name, "all/pod-1/leaf-1");
  const std::vector<Slice> one_leaf = {{NodeId(0), 8}, {NodeId(1), 8}};
  const std::vector<Slice> one_pod = {{NodeId(0), 8}, {NodeId(2), 8}};
  const std::vector<Slice> two_pods = {{NodeId(0), 8}, {NodeId(4), 8}};
  EXPECT_EQ(shared(tree, one_leaf), (Gbps{100, 100}));
  EXPECT_EQ(shared(tree, one_pod), (Gbps{100, 100, 100, 100})) << "2 x 100 / 2 Gbit/s of a leaf";
  EXPECT_EQ(shared(tree, two_pods), (Gbps{100, 100, 100, 100, 70, 70}));
  EXPECT_EQ(gbps(tree, one_pod), 100);
  EXPECT_EQ(gbps(tree, two_pods), 70);
}

TEST(Fabric, OneGangHasNoMoreThanItsRacksUplinks) {
  const Cluster racks = cluster(
      "links: {rack_gbps: 100, oversubscription: 8}\n"
      "racks: [{count: 2, nodes: {count: 2, gpu_type: A, gpus: 8}}]");
  EXPECT_EQ(gbps(racks, {{NodeId(0), 8}, {NodeId(2), 8}}), 25) << "2 x 100 / 8 Gbit/s";
}

TEST(Fabric, CongestionDividesEachTiersLinks) {
  const Cluster tree = cluster(kThreeLevels);
  const Fabric fabric(tree, {1, 1, 2, 4});
  EXPECT_EQ(fabric.capacities()[LinkId(0)], 50);
  EXPECT_EQ(fabric.capacities()[LinkId(8)], 50) << "2 x 50 / 2, as oversubscription says";
  EXPECT_EQ(fabric.capacities()[LinkId(8 + 4 + 1)], 17.5) << "70 / 4";
}

TEST(RackTexts, SayWhatLinksCarryWhereAClusterSaysMoreThanLinks) {
  EXPECT_TRUE(rack_texts(load_cluster("2xV100:4").value()).empty());
  const auto texts = rack_texts(load_cluster("old-and-new").value());
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[1].name, "r1");
  EXPECT_EQ(texts[1].about,
            "4 nodes of 8 V100, 100 Gbit/s each; 4 nodes of 8 K80, 10 Gbit/s each; 110 Gbit/s up");
  EXPECT_EQ(rack_texts(load_cluster("nvl72").value())[0].about,
            "18 nodes of 4 GB200, 72 GPUs to a domain of 7200 Gbit/s, 72 x 400 Gbit/s each; "
            "28800 Gbit/s up");
  EXPECT_EQ(rack_texts(load_cluster("lingjun-pod").value())[7].name, "core/pod-1/segment-3");
}

TEST(Fabric, RacksMustBeAsDeepAsLevelsAreNamed) {
  const auto result =
      parse_cluster_yaml("levels: [rack, pod]\nracks: [{nodes: {gpu_type: A, gpus: 8}}]", "test");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("but 2 levels are named"), std::string::npos)
      << result.error().message;
}

}  // namespace
}  // namespace fairlead
