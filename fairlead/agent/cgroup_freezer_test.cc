// Cgroups as files of a folder: the kernel's part is played by the test.
#include "fairlead/agent/cgroup_freezer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

class CgroupFreezerTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(testing::TempDir()) /
        (std::string("cgroups-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(root_ / path).rdbuf();
    return text.str();
  }

  fs::path root_;
};

TEST_F(CgroupFreezerTest, CgroupsOfPodsAreKnownByTheirNames) {
  EXPECT_EQ(pod_of_cgroup("kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice"),
            kUid);
  EXPECT_EQ(pod_of_cgroup("kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice"), kUid);
  EXPECT_EQ(pod_of_cgroup("pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"), kUid);
  // The name for a pod that comes from a file of its node.
  EXPECT_EQ(pod_of_cgroup("pod0123456789abcdef0123456789abcdef"),
            "0123456789abcdef0123456789abcdef");
  for (const char* other : {"kubepods-burstable.slice", "burstable", "podman", "pod", "",
                            "cri-containerd-0123456789abcdef0123456789abcdef.scope"}) {
    EXPECT_EQ(pod_of_cgroup(other), "") << other;
  }
}

TEST_F(CgroupFreezerTest, OfVersion2WithSystemd) {
  const fs::path pod =
      "kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice";
  write(pod / "cgroup.freeze", "0\n");
  write(pod / "cgroup.events", "populated 1\nfrozen 0\n");
  CgroupFreezer freezer(root_);
  EXPECT_EQ(freezer.state(kUid), PodState::kThawed);
  ASSERT_TRUE(freezer.set(kUid, true));
  EXPECT_EQ(read(pod / "cgroup.freeze").substr(0, 1), "1");
  EXPECT_EQ(freezer.state(kUid), PodState::kFreezing);
  EXPECT_EQ(freezer.frozen(), std::vector<std::string>{kUid});
  write(pod / "cgroup.events", "populated 1\nfrozen 1\n");
  EXPECT_EQ(freezer.state(kUid), PodState::kFrozen);
  ASSERT_TRUE(freezer.set(kUid, false));
  EXPECT_EQ(freezer.state(kUid), PodState::kThawed);
  EXPECT_TRUE(freezer.frozen().empty());
}

TEST_F(CgroupFreezerTest, OfVersion1WithCgroupfs) {
  const fs::path pod = "freezer/kubepods/besteffort/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
  write(pod / "freezer.state", "THAWED\n");
  write("cpu/kubepods/besteffort/pod0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/cpu.shares", "2\n");
  CgroupFreezer freezer(root_);
  EXPECT_EQ(freezer.state(kUid), PodState::kThawed);
  ASSERT_TRUE(freezer.set(kUid, true));
  EXPECT_EQ(freezer.state(kUid), PodState::kFrozen);
  write(pod / "freezer.state", "FREEZING\n");
  EXPECT_EQ(freezer.state(kUid), PodState::kFreezing);
  ASSERT_TRUE(freezer.set(kUid, false));
  EXPECT_EQ(freezer.state(kUid), PodState::kThawed);
}

TEST_F(CgroupFreezerTest, APodWithoutCgroupIsAnErrorThatNamesIt) {
  CgroupFreezer freezer(root_);
  EXPECT_EQ(freezer.state(kUid), PodState::kNone);
  const Status failed = freezer.set(kUid, true);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(kUid), std::string::npos);
}

TEST_F(CgroupFreezerTest, APodThatComesLaterIsFound) {
  CgroupFreezer freezer(root_);
  EXPECT_EQ(freezer.state(kUid), PodState::kNone);
  write(
      "kubelet.slice/kubelet-kubepods.slice/"
      "kubelet-kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/cgroup.freeze",
      "0\n");
  EXPECT_EQ(freezer.state(kUid), PodState::kThawed);
}

}  // namespace
}  // namespace fairlead
