#include "fairlead/local/machine.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Machine, StandInsAreANodeForEachType) {
  const auto machine = stand_in_machine("1xV100:4,2xK80@0.25");
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  const Cluster& cluster = machine->cluster;
  ASSERT_EQ(cluster.nodes(), 2U);
  EXPECT_EQ(cluster.node_names[NodeId(0)], "V100");
  EXPECT_EQ(cluster.node_gpus[NodeId(0)], 4);
  EXPECT_EQ(cluster.node_gpus[NodeId(1)], 2);
  EXPECT_EQ(cluster.hosts, 1U);
  EXPECT_EQ(machine->speed[GpuTypeId(0)], 1);
  EXPECT_EQ(machine->speed[GpuTypeId(1)], 0.25);
  EXPECT_EQ(machine->gpu_names, (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
}

TEST(Machine, WhatIsWrongIsNamed) {
  for (const char* text :
       {"", "V100", "0xV100", "4x", "4xV100@", "4xV100@-1", "4xV100,", "9999xA"}) {
    const auto machine = stand_in_machine(text);
    ASSERT_FALSE(machine.has_value()) << text;
    EXPECT_NE(machine.error().message.find("--nodes"), std::string::npos)
        << machine.error().message;
  }
}

TEST(Machine, WithoutADriverTheErrorSaysSo) {
  const auto machine = nvidia_machine("libnot-there.so");
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().message,
            "no NVIDIA driver is installed (libnot-there.so is not there)");
}

TEST(Machine, NamesOfGpusAreShort) {
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(short_gpu_name("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(short_gpu_name("Tesla V100-PCIE-16GB"), "V100");
  EXPECT_EQ(short_gpu_name("NVIDIA GeForce RTX 3090"), "RTX3090");
  EXPECT_EQ(short_gpu_name("Tesla K80"), "K80");
}

}  // namespace
}  // namespace fairlead
