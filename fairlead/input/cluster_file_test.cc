#include "fairlead/input/cluster_file.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace fairlead {
namespace {

std::string shared(const std::string& path) {
  const char* root = std::getenv("FAIRLEAD_SHARED");
  return std::string(root == nullptr ? "../shared" : root) + "/data/clusters/" + path;
}

std::string message(const Result<Cluster>& cluster) {
  return cluster ? "no error" : cluster.error().message;
}
std::string yaml_error(std::string_view text) {
  return message(parse_cluster_yaml(text, "lab.yaml"));
}
std::string list_error(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, "nodes.csv");
  return message(read_node_list(*source));
}

TEST(ClusterYaml, NodesMayStateTheirCpusAndMemory) {
  const Result<Cluster> cluster = parse_cluster_yaml(
      "racks:\n"
      "  - nodes:\n"
      "      - {count: 2, gpu_type: A100, gpus: 8, cpus: 128, memory_gb: 1024.5}\n"
      "      - {gpus: [{type: V100, count: 1}, {type: K80, count: 3}], cpus: 64}\n"
      "      - {gpu_type: A100, gpus: 8}\n",
      "a.yaml");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->has_of(NodeId(1)), (CpuMemory{{128'000}, {1'024'500}}));
  EXPECT_EQ(cluster->has_of(NodeId(2)), (CpuMemory{{16'000}, {}})) << "by its 1 of 4 GPUs";
  EXPECT_EQ(cluster->has_of(NodeId(3)), (CpuMemory{{48'000}, {}}));
  EXPECT_EQ(cluster->has_of(NodeId(4)), CpuMemory());
  EXPECT_EQ(spec_of(*cluster).nodes[2].has, cluster->has_of(NodeId(2)));
  EXPECT_EQ(yaml_error("racks: [{nodes: {gpu_type: A100, gpus: 8, cpus: 0}}]"),
            "lab.yaml:1:49: expected a number from 0.001 to 1000000: 0");
}

TEST(ClusterYaml, ReadsRacksOfNodes) {
  const Result<Cluster> cluster = parse_cluster_yaml(
      "name: lab\n"
      "links: {pair_gbps: 2400, spine_gbps: 2.5, latency_us: 5, oversubscription: 4}\n"
      "racks:\n"
      "  - name: left\n"
      "    nodes: {count: 3, gpu_type: V100, gpus: 4}\n"
      "  - nodes: [{count: 2, gpu_type: P100, gpus: 4}, {name: big, gpu_type: K80, gpus: 8}]\n",
      "a.yaml");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(describe(*cluster), "6 nodes, 28 GPUs: 12 V100, 8 P100, 8 K80");
  EXPECT_EQ(cluster->links.pair_gbps, 2400);
  EXPECT_EQ(cluster->links.node_gbps, Links().node_gbps);
  EXPECT_EQ(cluster->links.spine_gbps, 2.5);
  EXPECT_EQ(cluster->links.latency_us, 5);
  EXPECT_EQ(cluster->links.oversubscription, 4);
  EXPECT_EQ(cluster->rack_nodes.size(), 2U);
  EXPECT_EQ(cluster->rack_nodes[RackId(0)].end, 3U);
  EXPECT_EQ(cluster->node_names[NodeId(0)], "n0");
  EXPECT_EQ(cluster->node_names[NodeId(5)], "big");
}

TEST(ClusterYaml, WithOversubscriptionOneJobAcrossRacksIsLimitedByItsHostsLinks) {
  const auto spine_gbps = [](const char* links) {
    const std::string text = fmt::format(
        "links: {}\nracks: [{{nodes: {{count: 3, gpu_type: V100, gpus: 4}}}}]\n", links);
    return parse_cluster_yaml(text, "a.yaml")->links.spine_gbps;
  };
  EXPECT_EQ(spine_gbps("{rack_gbps: 200, oversubscription: 4}"), 200);
  EXPECT_EQ(spine_gbps("{rack_gbps: 200, oversubscription: 4, spine_gbps: 40}"), 40);
  EXPECT_EQ(spine_gbps("{rack_gbps: 200}"), Links().spine_gbps);
}

TEST(ClusterYaml, MakesAMixedServerSeveralNodesOfOneHost) {
  const Result<Cluster> cluster = parse_cluster_yaml(
      "racks:\n"
      "  - nodes:\n"
      "      - {name: lab, count: 2, gpus: [{type: V100, count: 2}, {type: K80, count: 1}]}\n",
      "folder/mixed.yaml");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->name, "mixed");
  EXPECT_EQ(describe(*cluster), "4 nodes, 6 GPUs: 4 V100, 2 K80");
  EXPECT_EQ(cluster->hosts, 2U);
  EXPECT_EQ(cluster->node_host[NodeId(0)], cluster->node_host[NodeId(1)]);
  EXPECT_NE(cluster->node_host[NodeId(1)], cluster->node_host[NodeId(2)]);
  EXPECT_EQ(cluster->node_names[NodeId(0)], "lab-0/V100");
  EXPECT_EQ(cluster->node_names[NodeId(3)], "lab-1/K80");
}

TEST(ClusterYaml, RepeatsRacks) {
  const Result<Cluster> cluster = parse_cluster_yaml(
      "racks: [{count: 3, nodes: {count: 2, gpu_type: V100, gpus: 8}}]", "a.yaml");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->rack_nodes.size(), 3U);
  EXPECT_EQ(cluster->hosts, 6U);
}

TEST(ClusterYaml, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(yaml_error("racks: {a: b: c}"),
            "lab.yaml:1:13: not valid YAML: end of map flow not found");
  EXPECT_EQ(yaml_error(""), "lab.yaml:1:1: expected a map of keys and values: nothing");
  EXPECT_EQ(yaml_error("name: x"), "lab.yaml:1:1: the key is missing here: racks");
  EXPECT_EQ(yaml_error("racks: []"),
            "lab.yaml:1:8: expected a list with at least one item: a list");
  EXPECT_EQ(yaml_error("racks: 3"), "lab.yaml:1:8: expected a list with at least one item: 3");
  EXPECT_EQ(yaml_error("racks:\n  - nodes: {gpu_type: V100, gpu: 4}\n"),
            "lab.yaml:2:29: unknown key; known here are name, count, gpu_type, gpus, cpus, "
            "memory_gb, pair_gbps, "
            "node_gbps, nics, nic_gbps, domain: gpu");
  EXPECT_EQ(yaml_error("racks:\n  - nodes: {gpu_type: V100, gpus: 4, count: 3, domain: 2}\n"),
            "lab.yaml:2:12: 3 hosts do not fill domains of 2");
  EXPECT_EQ(yaml_error("levels: [rack, pod]\nswitches:\n  - {name: pod}\n"),
            "lab.yaml:3:5: a switch has either switches or racks below it");
  EXPECT_EQ(yaml_error("racks:\n  - nodes: {gpus: 4}\n"),
            "lab.yaml:2:12: the key is missing here: gpu_type");
  EXPECT_EQ(yaml_error("name: a\nname: b\n"), "lab.yaml:2:1: this key occurs twice: name");
  EXPECT_EQ(yaml_error("links: {pair_gbps: fast}\nracks: []"),
            "lab.yaml:1:20: expected a number from 1e-06 to 1000000: fast");
  EXPECT_EQ(yaml_error("links: {pair_gbps: .nan}\nracks: []"),
            "lab.yaml:1:20: expected a number from 1e-06 to 1000000: .nan");
  EXPECT_EQ(yaml_error("racks: [{nodes: {gpu_type: [V100], gpus: 1}}]"),
            "lab.yaml:1:28: expected a word: a list");
  EXPECT_EQ(yaml_error("racks: [{nodes: {gpu_type: V100, gpus: [{type: K80, count: 1}]}}]"),
            "lab.yaml:1:28: a host with a list of GPUs names their types in the list: V100");
}

TEST(ClusterYaml, RefusesNumbersWithLeadingZeros) {
  const std::string what = ": expected a number without leading zeros: ";
  for (const char* gpus : {"010", "+08", "'04'", "00"}) {
    const std::string shown = gpus[0] == '\'' ? "04" : gpus;
    EXPECT_EQ(yaml_error(fmt::format("racks: [{{nodes: {{gpu_type: V100, gpus: {}}}}}]", gpus)),
              "lab.yaml:1:40" + what + shown);
  }
  EXPECT_EQ(yaml_error("links: {pair_gbps: 0100.5}\nracks: []"), "lab.yaml:1:20" + what + "0100.5");
  EXPECT_TRUE(
      parse_cluster_yaml("links: {latency_us: 0.5}\n"
                         "racks: [{nodes: {gpu_type: V100, gpus: 8.0}}]",
                         "a.yaml"));
}

TEST(ClusterYaml, OversubscriptionIsAtLeastOne) {
  const std::string what = ": expected a number from 1 to 1000: 0.5";
  const std::string racks = "racks: [{nodes: {gpu_type: V100, gpus: 4}}]\n";
  EXPECT_EQ(yaml_error("links: {oversubscription: 0.5}\n" + racks), "lab.yaml:1:27" + what);
  EXPECT_EQ(yaml_error("racks: [{oversubscription: 0.5, nodes: {gpu_type: V100, gpus: 4}}]"),
            "lab.yaml:1:28" + what);
  EXPECT_EQ(yaml_error("links: {oversubscription: 1}\n" + racks), "no error");
}

TEST(ClusterYaml, RefusesASecondDocument) {
  const std::string one = "racks: [{nodes: {gpu_type: V100, gpus: 4}}]\n";
  const std::string what = "a file must have one YAML document; a second one starts here";
  EXPECT_EQ(yaml_error(one + "---\nname: b\n"), "lab.yaml:3:1: " + what);
  EXPECT_EQ(yaml_error("---\n" + one + "...\n" + one), "lab.yaml:4:1: " + what);
  EXPECT_EQ(yaml_error(one + "---\n---\n- b\n"), "lab.yaml:4:1: " + what);
  EXPECT_EQ(yaml_error("---\n" + one + "---\n# nothing\n"), "no error");
}

TEST(ClusterYaml, RefusesTextWhereNoValueCanBegin) {
  const std::string one = "racks: [{nodes: {gpu_type: V100, gpus: 4}}]\n";
  const std::string what = "not valid YAML: no value can start here";
  EXPECT_EQ(yaml_error("[]\n,\n"), "lab.yaml:2:1: " + what);
  EXPECT_EQ(yaml_error(one + "--- ,\n"), "lab.yaml:2:5: " + what);
  EXPECT_EQ(yaml_error(", " + one), "lab.yaml:1:1: " + what);
}

TEST(ClusterYaml, RefusesAbsurdCounts) {
  for (const char* gpus : {"0", "-1", "65", "4.5", "four", "99999999999999999999"}) {
    EXPECT_EQ(yaml_error(fmt::format("racks: [{{nodes: {{gpu_type: V100, gpus: {}}}}}]", gpus)),
              fmt::format("lab.yaml:1:40: expected a whole number from 1 to 64: {}", gpus));
  }
  for (const char* count : {"0", "-3", "1000001"}) {
    EXPECT_EQ(
        yaml_error(fmt::format("racks: [{{nodes: {{count: {}, gpu_type: T, gpus: 1}}}}]", count)),
        fmt::format("lab.yaml:1:25: expected a whole number from 1 to 1000000: {}", count));
  }
  EXPECT_EQ(
      yaml_error("racks: [{count: 1000000, nodes: {count: 1000000, gpu_type: V100, gpus: 1}}]"),
      "lab.yaml:1:33: a cluster has at most 1000000 nodes");
}

TEST(ClusterYaml, RefusesNamesThatOccurTwice) {
  EXPECT_EQ(yaml_error("racks:\n"
                       "  - {name: a, nodes: {gpu_type: V100, gpus: 1}}\n"
                       "  - {name: a, nodes: {gpu_type: V100, gpus: 1}}\n"),
            "lab.yaml:3:5: two racks have the same name: a");
  EXPECT_EQ(
      yaml_error("racks:\n"
                 "  - nodes: [{name: a, gpu_type: T, gpus: 1}, {name: a, gpu_type: T, gpus: 1}]\n"),
      "lab.yaml:2:3: two nodes have the same name: a");
}

TEST(ClusterYaml, RefusesMoreTypesThanAClusterCanHave) {
  std::string nodes;
  for (int i = 0; i < 33; ++i) nodes += fmt::format("{{gpu_type: T{}, gpus: 1}}, ", i);
  EXPECT_EQ(yaml_error(fmt::format("racks: [{{nodes: [{}]}}]", nodes)),
            "lab.yaml:1:8: cluster lab: at most 32 GPU types: 33");
}

TEST(ClusterShorthand, ReadsGroupsOfNodes) {
  const Result<Cluster> cluster = load_cluster("12xV100:4,6xP100:4");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->name, "12xV100:4,6xP100:4");
  EXPECT_EQ(describe(*cluster), "18 nodes, 72 GPUs: 48 V100, 24 P100");
  EXPECT_EQ(cluster->rack_nodes.size(), 1U);
  EXPECT_EQ(describe(*load_cluster("1xV100:1")), "1 node, 1 GPU: 1 V100");
}

TEST(ClusterShorthand, SaysWhereAndWhatIsWrong) {
  const std::string help = " (12xV100:4,6xP100:4 is 12 nodes of 4 V100 and 6 nodes of 4 P100): ";
  const auto error = [](std::string_view spec) { return message(load_cluster(spec)); };
  EXPECT_EQ(error("12xV100"), "cluster shorthand:1:1: expected COUNTxTYPE:GPUS" + help + "12xV100");
  EXPECT_EQ(error("1xV100:4,oops"),
            "cluster shorthand:1:10: expected COUNTxTYPE:GPUS" + help + "oops");
  EXPECT_EQ(error("1xV100:4,,1xK80:4"),
            "cluster shorthand:1:10: expected COUNTxTYPE:GPUS" + help + "");
  EXPECT_EQ(
      error("0xV100:4"),
      "cluster shorthand:1:1: the count of nodes must be from 1 to 1000000" + help + "0xV100:4");
  EXPECT_EQ(error("1xV100:65"),
            "cluster shorthand:1:1: the GPUs of a node must be from 1 to 64" + help + "1xV100:65");
  EXPECT_EQ(error("1xV100:-1"),
            "cluster shorthand:1:1: the GPUs of a node must be from 1 to 64" + help + "1xV100:-1");
  EXPECT_EQ(error("1x:4"), "cluster shorthand:1:1: the GPU type is missing" + help + "1x:4");
  EXPECT_EQ(error("1000000xV100:4,1xV100:4"),
            "a cluster has at most 1000000 nodes: 1000000xV100:4,1xV100:4");
}

TEST(ClusterPresets, AllLoadUnderTheirOwnName) {
  const std::vector<ClusterPreset> presets = preset_clusters();
  ASSERT_GE(presets.size(), 15U);
  for (const ClusterPreset& preset : presets) {
    const Result<Cluster> cluster = load_cluster(preset.name);
    ASSERT_TRUE(cluster) << message(cluster);
    EXPECT_EQ(cluster->name, preset.name);
    EXPECT_FALSE(preset.about.empty()) << preset.name;
    EXPECT_EQ(preset.about.find('\n'), std::string::npos) << preset.name;
  }
}

TEST(ClusterPresets, HaveThePublishedSizes) {
  const auto size_of = [](std::string_view name) { return describe(*load_cluster(name)); };
  EXPECT_EQ(size_of("slides"), "41 nodes, 164 GPUs: 12 V100, 24 P100, 128 K80");
  EXPECT_EQ(size_of("slides-100"), "25 nodes, 100 GPUs: 12 V100, 24 P100, 64 K80");
  EXPECT_EQ(size_of("gandiva-fair-200"), "50 nodes, 200 GPUs: 24 V100, 48 P100, 128 K80");
  EXPECT_EQ(size_of("gavel"), "27 nodes, 108 GPUs: 36 V100, 36 P100, 36 K80");
  EXPECT_EQ(size_of("hadar"), "15 nodes, 60 GPUs: 20 V100, 20 P100, 20 K80");
  EXPECT_EQ(size_of("hadare"), "5 nodes, 5 GPUs: 1 V100, 2 P100, 2 K80");
  EXPECT_EQ(size_of("blox"), "32 nodes, 128 GPUs: 128 V100");
  EXPECT_EQ(size_of("philly"), "48 nodes, 384 GPUs: 384 GPU");
  EXPECT_EQ(size_of("philly-vcs"), "352 nodes, 2816 GPUs: 2816 GPU");
  EXPECT_EQ(load_cluster("dally")->rack_nodes.size(), 4U);
  EXPECT_EQ(load_cluster("openb")->nodes(), 1213U);
  EXPECT_EQ(load_cluster("openb")->type_names.size(), 7U);
}

TEST(LoadCluster, SaysWhatAClusterCanBe) {
  const std::string error = message(load_cluster("slidez"));
  EXPECT_NE(error.find("a preset (ada-srsf, blox, "), std::string::npos) << error;
  EXPECT_NE(error.find("12xV100:4,6xP100:4"), std::string::npos) << error;
  EXPECT_TRUE(error.ends_with("this is none of them: slidez (did you mean slides?)")) << error;
}

TEST(LoadCluster, RefusesAFolder) { EXPECT_NE(message(load_cluster("data")), "no error"); }

TEST(LoadCluster, ReadsAFileByItsPath) {
  const Result<Cluster> cluster = load_cluster("data/clusters/slides.yaml");
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(describe(*cluster), describe(*load_cluster("slides")));
}

TEST(NodeList, IsRecognisedByItsHeader) {
  EXPECT_TRUE(is_node_list("ip,DSW,PSW,ASW\nabc"));
  EXPECT_TRUE(is_node_list(",machineId,number of GPUs\r\n"));
  EXPECT_FALSE(is_node_list("racks:\n"));
}

TEST(NodeList, LeavesOutMachinesWithoutGpus) {
  Result<ByteSource> source = ByteSource::memory(
      "sn,cpu_milli,memory_mib,gpu,model\r\na,1,1,2,T4\r\nb,1,1,0,\r\nc,1,1,8,\r\n", "nodes.csv");
  const Result<Cluster> cluster = read_node_list(*source);
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->name, "nodes");
  EXPECT_EQ(describe(*cluster), "2 nodes, 10 GPUs: 2 T4, 8 GPU");
  EXPECT_EQ(cluster->node_names[NodeId(1)], "c");
}

TEST(NodeList, NamesARackByAllItsSwitches) {
  Result<ByteSource> source =
      ByteSource::memory("ip,DSW,PSW,ASW\na,G6,P8,S1\nb,G6,P10,S1\nc,G6,P8,S1\n", "nodes.csv");
  const Result<Cluster> cluster = read_node_list(*source);
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->rack_nodes.size(), 2U);
  EXPECT_EQ(describe(*cluster), "3 nodes, 24 GPUs: 24 GPU");
  EXPECT_EQ(cluster->node_names[NodeId(1)], "c") << "rack by rack";
  const std::vector<Slice> within = {{NodeId(0), 8}, {NodeId(1), 8}};
  const std::vector<Slice> between = {{NodeId(0), 8}, {NodeId(2), 8}};
  EXPECT_EQ(cluster->tier_of(within), Tier::kRack);
  EXPECT_EQ(cluster->tier_of(between), Tier::kSpine);
  EXPECT_EQ(cluster->levels, (std::vector<std::string>{"ASW", "PSW", "DSW"}));
  ASSERT_EQ(cluster->switches.size(), 3U);
  const Switch& rack = cluster->racks[RackId(1)];
  EXPECT_EQ(rack.name, "G6/P10/S1");
  EXPECT_EQ(cluster->switches[rack.parent].name, "G6/P10");
  EXPECT_EQ(cluster->switches[cluster->switches[rack.parent].parent].name, "G6");
}

TEST(NodeList, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(list_error(""), "nodes.csv: the file is empty");
  EXPECT_EQ(list_error("a,b\n"),
            "nodes.csv:1:1: not a list of nodes that is known here (known headers: "
            "\"sn,cpu_milli,memory_mib,gpu,model\", \",machineId,number of GPUs\", "
            "\"ip,DSW,PSW,ASW\"): a,b");
  const std::string header = ",machineId,number of GPUs\n";
  EXPECT_EQ(list_error(header), "nodes.csv: a cluster without GPUs");
  EXPECT_EQ(list_error(header + "0,m0,0\n"), "nodes.csv: a cluster without GPUs");
  EXPECT_EQ(list_error(header + "0,m0\n"), "nodes.csv:2:1: a row must have 3 fields: 2");
  EXPECT_EQ(list_error(header + "0,,8\n"), "nodes.csv:2:3: machineId must not be empty: ");
  EXPECT_EQ(list_error(header + "0,m0,8\n1,m0,8\n"), "nodes.csv:3:3: machineId occurs twice: m0");
  EXPECT_EQ(list_error(header + "0,m0,many\n"),
            "nodes.csv:2:6: number of GPUs must be a whole number from 0 to 64: many");
  EXPECT_EQ(list_error(header + "0,m0,65\n"),
            "nodes.csv:2:6: number of GPUs must be a whole number from 0 to 64: 65");
  const std::string switches = "ip,DSW,PSW,ASW\n";
  EXPECT_EQ(list_error(switches + "a,G6,P8\n"), "nodes.csv:2:1: a row must have 4 fields: 3");
  EXPECT_EQ(list_error(switches + "a,G6,P8,S1\na,G6,P8,S2\n"), "nodes.csv:3:1: ip occurs twice: a");
}

// The published lists in full.
struct PublishedList {
  const char* file;
  const char* description;
  std::size_t racks;
};
class PublishedLists : public testing::TestWithParam<PublishedList> {};

TEST_P(PublishedLists, LoadInFull) {
  const std::string path = shared(GetParam().file);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no published node list at " << path;
  const Result<Cluster> cluster = load_cluster(path);
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(describe(*cluster), GetParam().description);
  EXPECT_EQ(cluster->rack_nodes.size(), GetParam().racks);
}

INSTANTIATE_TEST_SUITE_P(
    ByFile, PublishedLists,
    testing::Values(
        PublishedList{"openb_node_list_gpu_node.csv",
                      "1213 nodes, 6212 GPUs: 265 P100, 312 G3, 204 V100M32, 195 V100M16, 4392 G2, "
                      "842 T4, 2 A10",
                      1},
        // 552 machines, 13 of them without a GPU.
        PublishedList{"philly_machine_list.csv", "539 nodes, 3205 GPUs: 3205 GPU", 1},
        PublishedList{"lingjun_topo.csv", "847 nodes, 6776 GPUs: 6776 GPU", 119}));

}  // namespace
}  // namespace fairlead
