// The real way into NVML, by dlopen, with a library in its place (testing_nvml.cc).

#include "fairlead/io/nvml.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() : file_(fmt::format("{}nvml.{}", testing::TempDir(), ::getpid())) {
    ::setenv("FAIRLEAD_TESTING_NVML", file_.c_str(), 1);
  }
  ~NvmlTest() override {
    ::unsetenv("FAIRLEAD_TESTING_NVML");
    std::remove(file_.c_str());
  }
  void say(const std::string& text) const { std::ofstream(file_) << text; }
  static Result<std::unique_ptr<GpuDriver>> load_named(const std::string& library) {
    return load_nvml(std::vector<std::string>{library});
  }
  std::unique_ptr<GpuDriver> load() const {
    auto nvml = load_named(FAIRLEAD_TESTING_NVML_LIBRARY);
    EXPECT_TRUE(nvml) << nvml.error().message;
    return nvml ? std::move(*nvml) : nullptr;
  }
  static std::string refusal(const std::string& library) {
    const auto nvml = load_named(library);
    return nvml ? "" : nvml.error().message;
  }

 private:
  std::string file_;
};

// SIGTERM goes to any thread of the process that does not block it.
TEST_F(NvmlTest, ThreadsOfTheLibraryTakeNoSignals) {
  say("gpu GPU-a 0 A\n");
  load();
  std::vector<std::string> blocked;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::getpid())) continue;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) blocked.push_back(line.substr(7));
  }
  ASSERT_FALSE(blocked.empty());
  for (const std::string& mask : blocked)
    EXPECT_NE(std::stoull(mask, nullptr, 16) >> (SIGTERM - 1) & 1, 0U) << mask;
}

TEST_F(NvmlTest, NamesTheGpusInTheirOrder) {
  say("gpu GPU-a 0 NVIDIA A100-SXM4-80GB\ngpu GPU-b 0 Tesla V100-PCIE-16GB\n");
  const auto nvml = load();
  const auto gpus = nvml->gpus();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpus[1].name, "Tesla V100-PCIE-16GB");
  EXPECT_EQ(gpus[1].uuid, "GPU-b");
}

TEST_F(NvmlTest, ReportsProcessesLoadAndPowerOfAGpu) {
  say("gpu GPU-a 0 A\ngpu GPU-b 87 B\nprocess GPU-b 4242\nprocess GPU-b 77\n"
      "power GPU-b 312500\n");
  const auto nvml = load();
  EXPECT_EQ(nvml->processes("GPU-a"), std::vector<pid_t>());
  EXPECT_EQ(nvml->processes("GPU-b"), (std::vector<pid_t>{4242, 77}));
  EXPECT_EQ(nvml->busy_percent("GPU-a"), 0);
  EXPECT_EQ(nvml->busy_percent("GPU-b"), 87);
  EXPECT_EQ(nvml->power_w("GPU-a"), 0);
  EXPECT_EQ(nvml->power_w("GPU-b"), 312);
  EXPECT_EQ(nvml->power_w("GPU-c"), std::nullopt);
  EXPECT_EQ(nvml->processes("GPU-c"), std::nullopt);
  EXPECT_EQ(nvml->busy_percent("GPU-c"), std::nullopt);
}

TEST_F(NvmlTest, ReportsTheMemoryOfAGpu) {
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\nmemory GPU-a 80000000000 20000000001\n"
      "fail nvmlDeviceGetMemoryInfo 15 GPU-b\n");
  const auto nvml = load();
  EXPECT_EQ(nvml->memory("GPU-a"), (GpuMemory{.total_mb = 80'000, .used_mb = 20'001}));
  EXPECT_EQ(nvml->memory("GPU-b"), std::nullopt);
  EXPECT_EQ(nvml->memory("GPU-c"), std::nullopt);
}

TEST_F(NvmlTest, TellsWhichGpusAreOutOfService) {
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\nfail nvmlDeviceGetMemoryInfo 15 GPU-b\n");
  const auto nvml = load();
  EXPECT_EQ(nvml->error("GPU-a"), "");
  EXPECT_EQ(nvml->error("GPU-b"), "the NVIDIA driver has an error for it (NVML error 15)");
  EXPECT_EQ(nvml->error("GPU-c"), "the NVIDIA driver no longer lists it");
  say("gpu GPU-a 0 A\nfail nvmlDeviceGetHandleByUUID 999\n");
  EXPECT_EQ(nvml->error("GPU-a"), "the NVIDIA driver has an error for it (NVML error 999)");
  say("gpu GPU-a 0 A\nfail nvmlDeviceGetMemoryInfo 3\n");  // it has no such query
  EXPECT_EQ(nvml->error("GPU-a"), "");
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\nremap GPU-a\nremap GPU-b\n"
      "fail nvmlDeviceGetRemappedRows 3 GPU-b\n");
  EXPECT_EQ(nvml->error("GPU-a"), "its memory has errors that the driver could not repair");
  EXPECT_EQ(nvml->error("GPU-b"), "");
}

TEST_F(NvmlTest, AGpuWithACriticalErrorIsOutOfService) {
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\n");
  const auto nvml = load();
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\nxid GPU-a 31\nxid GPU-b 79\n");
  EXPECT_EQ(nvml->error("GPU-a"), "") << "a program's fault";
  EXPECT_EQ(nvml->error("GPU-b"), "the NVIDIA driver has reported Xid 79 for it");
  say("gpu GPU-a 0 A\ngpu GPU-b 0 B\nxid GPU-a 31\nxid GPU-b 79\nxid GPU-a 48\n");
  EXPECT_EQ(nvml->error("GPU-a"), "the NVIDIA driver has reported Xid 48 for it");
  EXPECT_EQ(nvml->error("GPU-b"), "the NVIDIA driver has reported Xid 79 for it") << "it stays so";
  EXPECT_EQ(load()->error("GPU-c"), "the NVIDIA driver no longer lists it");
}

constexpr const char* kDivided =
    "gpu GPU-a 0 NVIDIA A100-SXM4-40GB\ngpu GPU-b 0 NVIDIA A100-SXM4-40GB\n"
    "mig MIG-1 GPU-b 7 0 NVIDIA A100-SXM4-40GB MIG 1g.5gb\n"
    "mig MIG-3 GPU-b 2 0 NVIDIA A100-SXM4-40GB MIG 3g.20gb\n";

TEST_F(NvmlTest, InstancesReplaceTheirGpu) {
  say(std::string(kDivided) + "memory MIG-3 20000000000 1\nprocess MIG-1 77\n");
  const auto nvml = load();
  const auto gpus = nvml->gpus();
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].uuid, "GPU-a");
  EXPECT_EQ(gpus[1].uuid, "MIG-1");
  EXPECT_EQ(gpus[2].name, "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  EXPECT_EQ(nvml->memory("MIG-3"), (GpuMemory{.total_mb = 20'000, .used_mb = 1}));
  EXPECT_EQ(nvml->processes("MIG-1"), std::vector<pid_t>{77});
  EXPECT_EQ(nvml->device("GPU-b"), (DeviceNumber{195, 1}));
  EXPECT_EQ(nvml->device("MIG-1"), std::nullopt) << "no table of the kernel module here";
}

TEST_F(NvmlTest, AnErrorOfAnInstanceLeavesTheOthers) {
  say(kDivided);
  const auto nvml = load();
  say(std::string(kDivided) + "xid GPU-b 48 2\n");
  EXPECT_EQ(nvml->error("MIG-1"), "");
  EXPECT_EQ(nvml->error("MIG-3"), "the NVIDIA driver has reported Xid 48 for it");
  say(std::string(kDivided) + "xid GPU-b 48 2\nxid GPU-b 79\n");
  EXPECT_EQ(nvml->error("MIG-1"), "the NVIDIA driver has reported Xid 79 for it");
  EXPECT_EQ(nvml->error("GPU-a"), "");
  say(std::string(kDivided) + "remap GPU-b\n");
  EXPECT_EQ(load()->error("MIG-1"), "its memory has errors that the driver could not repair");
}

TEST(MigDevice, IsThatOfTheComputeInstance) {
  const std::string table =
      "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\ngpu1/gi1/ci0/access 148\n";
  EXPECT_EQ(mig_device(table, 0, 1, 0), 13U);
  EXPECT_EQ(mig_device(table, 1, 1, 0), 148U);
  EXPECT_EQ(mig_device(table, 1, 2, 0), std::nullopt);
  EXPECT_EQ(mig_device("", 0, 1, 0), std::nullopt);
}

TEST_F(NvmlTest, WithoutEventsOfTheDriverNothingIsKnownOfXids) {
  say("gpu GPU-a 0 A\nxid GPU-a 79\nfail nvmlEventSetCreate 3\n");
  EXPECT_EQ(load()->error("GPU-a"), "");
}

TEST_F(NvmlTest, AListMayBeLong) {
  std::string text = "gpu GPU-a 0 A\n";
  for (int pid = 1; pid <= 100; ++pid) text += fmt::format("process GPU-a {}\n", pid);
  say(text);
  EXPECT_EQ(load()->processes("GPU-a").value_or(std::vector<pid_t>()).size(), 100U);
}

TEST_F(NvmlTest, WhatADriverDoesNotSayIsNothing) {
  say("gpu GPU-a 5 A\nfail nvmlDeviceGetComputeRunningProcesses_v3 3\n"
      "fail nvmlDeviceGetUtilizationRates 3\n");
  const auto nvml = load();
  EXPECT_EQ(nvml->processes("GPU-a"), std::nullopt);
  EXPECT_EQ(nvml->busy_percent("GPU-a"), std::nullopt);
}

TEST_F(NvmlTest, ErrorsAreNamed) {
  EXPECT_EQ(refusal("libnot-there.so"),
            "no NVIDIA driver is installed: libnot-there.so does not exist");
  EXPECT_EQ(refusal("libc.so.6"), "libc.so.6 is not a supported NVML");
  EXPECT_EQ(refusal(FAIRLEAD_TESTING_NVML_LIBRARY),
            "the NVIDIA driver does not answer (NVML error 9)");
  say("fail nvmlDeviceGetCount_v2 999\n");
  EXPECT_TRUE(load()->gpus().empty());
}

}  // namespace
}  // namespace fairlead
