#include "fairlead/slurm/nodes.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Result<SlurmNodes> read(std::string_view text) {
  auto source = ByteSource::memory(text, "nodes.txt");
  return read_slurm_nodes(*source);
}

std::string names(const SlurmNodes& found) {
  std::string text;
  for (const auto& [node, partitions, features] : found.nodes)
    text += fmt::format("{} {} {}\n", node.name, node.gpus, node.gpu_type);
  return text;
}

TEST(SlurmNodes, HaveTheirGpusByType) {
  const auto found = read(
      "NodeName=a1 Arch=x86_64 CoresPerSocket=32 \n"
      "   Gres=gpu:a100:8(S:0-1),nic:2\n"
      "   State=MIXED ThreadsPerCore=2 Owner=N/A\n"
      "   OS=Linux 5.15 #1 SMP Mon Jan 1 00:00:00 UTC 2024 \n"
      "   CfgTRES=cpu=128,mem=1000G,billing=128,gres/gpu=8,gres/gpu:a100=8\n"
      "\n"
      "NodeName=b1 Gres=gpu:v100:2(S:0),gpu:k80:4(S:1,2) State=IDLE\n"
      "NodeName=c1 Gres=gpu:4 State=ALLOCATED\n"
      "NodeName=d1 Gres=(null) State=IDLE CfgTRES=cpu=8,mem=1G\n"
      "NodeName=e1 Gres=(null) State=IDLE CfgTRES=cpu=8,gres/gpu=2,gres/gpumem=80G\n"
      "NodeName=f1 Gres=gpu State=IDLE\n");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names(*found),
            "a1 8 a100\nb1/k80 4 k80\nb1/v100 2 v100\nc1 4 GPU\ne1 2 GPU\nf1 1 GPU\n");
  EXPECT_EQ(found->without_gpus, 1);
  EXPECT_TRUE(found->left_out.empty());
}

TEST(SlurmNodes, HaveTheirCpusAndMemory) {
  const auto found = read(
      "NodeName=a1 CPUAlloc=4 CPUTot=128 Gres=gpu:a100:8 State=IDLE\n"
      "   RealMemory=1048576 AllocMem=0\n"
      "NodeName=b1 Gres=gpu:v100:1,gpu:k80:3 CPUTot=64 State=IDLE\n"
      "NodeName=c1 Gres=gpu:4 State=IDLE\n");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->nodes[0].spec.has, (CpuMemory{{128'000}, {1'024'000}}));
  EXPECT_EQ(found->nodes[1].spec.has.cpus, Thousandths{48'000}) << "by its 3 of 4 GPUs";
  EXPECT_EQ(found->nodes[2].spec.has.cpus, Thousandths{16'000});
  EXPECT_EQ(found->nodes[3].spec.has, CpuMemory());
}

TEST(SlurmNodes, ThatTakeNoJobsAreCountedByTheirState) {
  const auto found = read(
      "NodeName=a Gres=gpu:1 State=IDLE+DRAIN\n"
      "NodeName=b Gres=gpu:1 State=DOWN*+DRAIN\n"
      "NodeName=c Gres=gpu:1 State=IDLE*\n"
      "NodeName=d Gres=gpu:1 State=IDLE~\n"
      "NodeName=e Gres=(null) State=DOWN\n");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names(*found), "d 1 GPU\n");
  EXPECT_EQ(found->left_out, (std::map<std::string, std::int64_t>{
                                 {"down", 1}, {"drain", 1}, {"not responding", 1}}));
}

TEST(SlurmNodes, WhatIsWrongIsToldWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "nodes.txt: no node in it; give the output of `scontrol show node`"},
      {"PartitionName=gpu\nNodeName=a\n",
       "nodes.txt:1: a line before the first NodeName=; give the output of `scontrol show node`: "
       "PartitionName=gpu"},
      {"NodeName=a\n   Gres=gpu:a100:many\n   State=IDLE\n",
       "nodes.txt:2: node a must have a number of GPUs from 0 to 64: gpu:a100:many"},
      {"NodeName=a Gres=gpu:65 State=IDLE\n",
       "nodes.txt:1: node a must have a number of GPUs from 0 to 64: gpu:65"}};
  for (const auto& [text, message] : cases) {
    const auto found = read(text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().message, message);
  }
}

}  // namespace
}  // namespace fairlead
