#include "fairlead/cli/container.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

ContainerPlace place() {
  return {.folder = "/work/ann",
          .process = "42.17",
          .environment = {"PATH=/bin", "FAIRLEAD_JOB_ID=12", "CUDA_VISIBLE_DEVICES=GPU-a",
                          "FAIRLEAD_PROGRESS=/d/tasks/12.0/progress", "SECRET=x", "RANKING=1"},
          .memory_bytes = 1000};
}

Words command_of(const ContainerPlace& place, const Words& options = {}) {
  return podman_command({.image = "pytorch", .options = options}, place, {"python", "train.py"});
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(PodmanCommand, HasTheJobsFolderVariablesAndCgroups) {
  EXPECT_EQ(command_of(place()), (Words{"podman",
                                        "--cgroup-manager=cgroupfs",
                                        "--runtime=crun",
                                        "run",
                                        "--rm",
                                        "--interactive",
                                        "--cgroups=disabled",
                                        "--init",
                                        "--network=host",
                                        "--user=0:0",
                                        "--log-driver=none",
                                        "--security-opt=label=disable",
                                        "--shm-size=1000",
                                        "--label=fairlead.job=12",
                                        "--label=fairlead.process=42.17",
                                        "--volume=/work/ann:/work/ann",
                                        "--workdir=/work/ann",
                                        "--volume=/d/tasks/12.0:/d/tasks/12.0",
                                        "--env=FAIRLEAD_JOB_ID",
                                        "--env=CUDA_VISIBLE_DEVICES",
                                        "--env=FAIRLEAD_PROGRESS",
                                        "--group-add=keep-groups",
                                        "pytorch",
                                        "python",
                                        "train.py"}));
}

TEST(PodmanCommand, OptionsOfTheUserComeLast) {
  const Words words = command_of(place(), {"--user=7", "--volume=/data:/data"});
  const auto own = std::ranges::find(words, "--user=7");
  ASSERT_EQ(words.end() - own, 5);
  EXPECT_LT(std::ranges::find(words, "--user=0:0"), own);
  EXPECT_EQ(own[1], "--volume=/data:/data");
  EXPECT_EQ(own[2], "pytorch");
}

TEST(PodmanCommand, UnderCgroupV1AContainerOfRootIsBelowTheJobsGroups) {
  ContainerPlace at = place();
  at.is_unified = false;
  at.group = "/fairlead/x/12.0";
  const Words without_root = command_of(at);
  EXPECT_FALSE(has(without_root, "--runtime=crun"));
  EXPECT_EQ(std::ranges::count_if(
                without_root, [](const std::string& word) { return word.starts_with("--cgroup"); }),
            1);  // --cgroup-manager
  at.is_root = true;
  EXPECT_TRUE(has(command_of(at), "--cgroups=no-conmon"));
  EXPECT_TRUE(has(command_of(at), "--cgroup-parent=fairlead/x/12.0"));
  for (const char* none : {"", "/"}) {
    at.group = none;
    EXPECT_TRUE(has(command_of(at), "--cgroup-parent=fairlead"));
  }
}

TEST(PodmanCommand, ATerminalAndTheHookArePassedOn) {
  ContainerPlace at = place();
  EXPECT_FALSE(has(command_of(at), "--tty"));
  at.has_terminal = true;
  at.hook = "/d/hook";
  const Words words = command_of(at);
  EXPECT_TRUE(has(words, "--tty"));
  EXPECT_TRUE(has(words, "--env=PYTHONPATH=/d/hook"));
  EXPECT_TRUE(has(words, "--volume=/d/hook:/d/hook:ro"));
}

TEST(PodmanCommand, UnderCgroupV1OnlyDeviceNodesNeedTheGroupsOfTheUser) {
  ContainerPlace at = place();
  at.is_unified = false;
  at.devices = {"nvidia.com/gpu=GPU-a"};
  EXPECT_TRUE(has(command_of(at), "--device=nvidia.com/gpu=GPU-a"));
  EXPECT_FALSE(has(command_of(at), "--group-add=keep-groups"));
  at.devices = {"/dev/kfd"};
  EXPECT_TRUE(has(command_of(at), "--group-add=keep-groups"));
  at.is_root = true;
  EXPECT_FALSE(has(command_of(at), "--group-add=keep-groups"));
}

// The files of a machine.
class GpuDevicesTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text = "") {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::string devices(const char* cuda, const char* rocr = "") {
    const auto devices = gpu_devices(root_, cuda, rocr);
    if (!devices) return devices.error().message;
    std::string text;
    for (const std::string& device : *devices) text += device + ' ';
    return text;
  }
  void SetUp() override { std::filesystem::remove_all(root_); }
  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / "fairlead_gpu_devices";
};

TEST_F(GpuDevicesTest, WithoutADriverThereAreNone) { EXPECT_EQ(devices("0,1", "GPU-1"), ""); }

TEST_F(GpuDevicesTest, OfNvidiaAreThoseOfTheSpecification) {
  write("dev/nvidiactl");
  EXPECT_EQ(devices(""), "");
  EXPECT_TRUE(devices("GPU-a").starts_with("no CDI specification names the GPU GPU-a"));
  write("etc/cdi/other.yaml", "kind: other.com/gpu\nname: GPU-a\n");
  EXPECT_TRUE(devices("GPU-a").starts_with("no CDI specification"));
  write("var/run/cdi/nvidia.yaml", "kind: nvidia.com/gpu\nname: GPU-a\nname: MIG-b\n");
  EXPECT_EQ(devices("GPU-a,MIG-b"), "nvidia.com/gpu=GPU-a nvidia.com/gpu=MIG-b ");
  EXPECT_TRUE(devices("GPU-a,GPU-c").starts_with("no CDI specification names the GPU GPU-c"));
}

TEST_F(GpuDevicesTest, OfAmdAreTheNodesThatMayBeOpened) {
  for (const char* node : {"dev/kfd", "dev/dri/renderD129", "dev/dri/renderD128", "dev/dri/card0"})
    write(node);
  std::filesystem::create_directory(root_ / "dev/dri/renderD130");  // cannot be opened to write
  const std::string dev = root_.string() + "/dev/";
  EXPECT_EQ(devices("", "GPU-1"), dev + "kfd " + dev + "dri/renderD128 " + dev + "dri/renderD129 ");
  EXPECT_EQ(devices("", ""), "");
}

TEST(FindPodman, WithoutItTheErrorNamesTheRemedy) {
  const auto found = find_podman("/nonexistent:");
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().message.starts_with("--container needs podman"))
      << found.error().message;
}

}  // namespace
}  // namespace fairlead
