#include "fairlead/local/machine.h"

#include "fairlead/model/gpu_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <unistd.h>

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
  const auto machine =
      driver_machine({.nvml = {"libnot-there.so"}, .rocm_smi = {"libnor-that.so"}});
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(
      machine.error().message,
      "no NVIDIA driver is installed: libnot-there.so does not exist; no AMD driver is installed: "
      "libnor-that.so does not exist");
}

// By a library in place of NVML (io/testing_nvml.cc).
TEST(Machine, TheGpusOfTheDriverAreANodeForEachType) {
  const std::string file = fmt::format("{}machine.{}", testing::TempDir(), ::getpid());
  ::setenv("FAIRLEAD_TESTING_NVML", file.c_str(), 1);
  std::ofstream(file) << "gpu GPU-a 0 Tesla V100-PCIE-16GB\ngpu GPU-b 0 NVIDIA A100-SXM4-80GB\n"
                         "gpu GPU-c 0 Tesla V100-PCIE-16GB\n";
  const GpuLibraries libraries = {.nvml = {FAIRLEAD_TESTING_NVML_LIBRARY},
                                  .rocm_smi = {"libnor-that.so"}};
  const auto machine = driver_machine(libraries);
  std::ofstream(file) << "";
  const auto none = driver_machine(libraries);
  std::remove(file.c_str());
  ::unsetenv("FAIRLEAD_TESTING_NVML");
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  EXPECT_EQ(gpus_text(*machine), "2 V100, 1 A100");
  EXPECT_EQ(machine->gpu_names, (std::vector<std::string>{"GPU-a", "GPU-c", "GPU-b"}));
  EXPECT_EQ(machine->speed[GpuTypeId(1)], 1);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(machine->visible_devices, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(none.error().message,
            "the NVIDIA driver knows of no GPU; no AMD driver is installed: libnor-that.so does "
            "not exist");
}

TEST(Machine, SomeGpusAreLeftOut) {
  Machine machine = stand_in_machine("3xV100,2xK80").value();
  ASSERT_TRUE(serve_only("1-2,4", machine).has_value());
  EXPECT_EQ(machine.not_served, (std::set<std::uint32_t>{0, 3}));
  EXPECT_EQ(serve_only("2-5", machine).error().message,
            "--gpus: like 0-5,7 with numbers up to 4, or UUIDs: 2-5");
  Machine named = stand_in_machine("3xV100").value();
  named.gpu_names = {"GPU-1a", "GPU-2b", "GPU-3c"};
  named.driver_numbers = {0, 2, 1};  // a GPU of another type is between them
  ASSERT_TRUE(serve_only("GPU-1a,2", named).has_value());
  EXPECT_EQ(named.not_served, std::set<std::uint32_t>{2});
  ASSERT_TRUE(serve_only("", machine).has_value());
}

TEST(Machine, NamesOfGpusAreShort) {
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(short_gpu_name("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(short_gpu_name("Tesla V100-PCIE-16GB"), "V100");
  EXPECT_EQ(short_gpu_name("NVIDIA GeForce RTX 3090"), "RTX3090");
  EXPECT_EQ(short_gpu_name("Tesla K80"), "K80");
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-80GB MIG 1g.10gb"), "A100-1g.10gb");
  EXPECT_EQ(short_gpu_name("AMD Instinct MI300X OAM"), "MI300X");
  EXPECT_EQ(short_gpu_name("AMD INSTINCT MI250 (MCM) OAM AC MBA"), "MI250");
  EXPECT_EQ(short_gpu_name("Aldebaran/MI200 [Instinct MI250X/MI250]"), "MI250X");
  EXPECT_EQ(short_gpu_name("Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]"), "RX7900");
}

}  // namespace
}  // namespace fairlead
