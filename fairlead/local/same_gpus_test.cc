#include "fairlead/local/same_gpus.h"

#include "fairlead/local/gpu_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

KnownGpus known_of(const Machine& machine) {
  const Cluster& cluster = machine.cluster;
  KnownGpus known{.types = {cluster.type_names.begin(), cluster.type_names.end()},
                  .nodes = {},
                  .names = machine.gpu_names};
  for (NodeId node : ids<NodeId>(cluster.nodes()))
    known.nodes.push_back(
        {cluster.node_names[node], cluster.node_type[node], cluster.node_gpus[node]});
  return known;
}

Machine named(const char* nodes, std::vector<std::string> names) {
  Machine machine = stand_in_machine(nodes).value();
  machine.gpu_names = std::move(names);
  return machine;
}

using Names = std::vector<std::string>;

TEST(SameGpus, AGpuKeepsItsNumberInAnyOrder) {
  const auto same = same_gpus(named("2xV100,1xK80", {"b", "a", "k"}),
                              known_of(named("2xV100,1xK80", {"a", "b", "k"})));
  EXPECT_EQ(same->machine.gpu_names, (Names{"a", "b", "k"}));
  EXPECT_TRUE(same->machine.absent.empty());
  EXPECT_EQ(same->machine.cluster.nodes(), 2U);
}

TEST(SameGpus, AGpuThatIsGoneKeepsItsNumber) {
  const auto same =
      same_gpus(named("1xK80@0.5", {"k"}), known_of(named("2xV100,1xK80", {"a", "b", "k"})));
  EXPECT_EQ(same->machine.gpu_names, (Names{"a", "b", "k"}));
  EXPECT_EQ(same->machine.absent, (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(same->machine.cluster.node_names[NodeId(0)], "V100");
  EXPECT_EQ(same->machine.speed[GpuTypeId(1)], 0.5);
}

TEST(SameGpus, NewGpusGetANodeBehindTheOthers) {
  Machine present = named("3xV100,2xK80,1xH100", {"c", "a", "d", "k", "l", "h"});
  present.not_served = {2};
  const auto same = same_gpus(present, known_of(named("2xV100,1xK80", {"a", "b", "k"})));
  EXPECT_EQ(same->machine.gpu_names, (Names{"a", "b", "k", "c", "d", "l"}));
  EXPECT_EQ(same->machine.absent, std::set<std::uint32_t>{1});
  EXPECT_EQ(same->machine.not_served, std::set<std::uint32_t>{4});
  EXPECT_EQ(same->cluster.nodes(), 2U);
  EXPECT_EQ(same->machine.cluster.node_names[NodeId(2)], "V100-1");
  EXPECT_EQ(same->machine.cluster.node_gpus[NodeId(2)], 2);
  EXPECT_EQ(same->machine.cluster.node_names[NodeId(3)], "K80-1");
  EXPECT_EQ(same->unknown_types, Names{"H100"});
}

// A crash came between the names and the journal.
TEST(SameGpus, ANameWithoutANodeIsNew) {
  KnownGpus known = known_of(named("2xV100", {"a", "b"}));
  known.names.push_back("c");
  const auto same = same_gpus(named("3xV100", {"a", "b", "c"}), known);
  EXPECT_EQ(same->machine.gpu_names, (Names{"a", "b", "c"}));
  EXPECT_EQ(same->machine.cluster.nodes(), 2U);
  known.names = {"a"};
  EXPECT_FALSE(same_gpus(named("3xV100", {"a", "b", "c"}), known));
}

TEST(SameGpus, AnOlderFolderHasNoNames) {
  KnownGpus known = known_of(named("3xV100", {"a", "b", "c"}));
  known.names.clear();
  const auto same = same_gpus(named("2xV100", {"a", "c"}), known);
  EXPECT_EQ(same->machine.gpu_names, (Names{"a", "c", "absent 2"}));
  EXPECT_EQ(same->machine.absent, std::set<std::uint32_t>{2});
}

TEST(GpuFile, IsReadAsItWasWritten) {
  const GpuFile file{.names = {"GPU-a", "GPU-b"},
                     .cordoned = {"GPU-b"},
                     .closed = {{"GPU-a", "job 1 of ann failed at once on it", Time{5}},
                                {"GPU-b", "\"", Time::never()}}};
  EXPECT_EQ(parse_gpu_file(gpu_file_text(file)).value(), file);
  for (const char* wrong : {"", "{}", R"({"names":[1],"cordoned":[],"closed":[]})",
                            R"({"names":[],"cordoned":[],"closed":[{"name":"a"}]})"})
    EXPECT_FALSE(parse_gpu_file(wrong)) << wrong;
}

}  // namespace
}  // namespace fairlead
