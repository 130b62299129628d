#include "fairlead/io/limit_groups.h"

#include "fairlead/io/cgroups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr DeviceNumber kZero = {1, 5};  // /dev/zero
constexpr DeviceNumber kFull = {1, 7};  // /dev/full
constexpr std::uint64_t kMiB = 1 << 20;

std::string name() { return fmt::format("test.{}", ::getpid()); }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns how a process in these groups ends.
int status_of_process_in(const std::vector<std::string>& groups, const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_in = std::ranges::all_of(groups, [](const std::string& group) {
      return write_cgroup(group + "/cgroup.procs", "0").has_value();
    });
    ::_exit(is_in ? run() : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// Returns the error of opening the file in a process of these groups.
int error_of_open(const std::vector<std::string>& groups, const char* path) {
  const int status = status_of_process_in(
      groups, [&] { return ::open(path, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0; });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int status_of_process_with(const std::vector<std::string>& groups, std::uint64_t bytes) {
  return status_of_process_in(groups, [&] {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 98;
    std::memset(memory, 1, bytes);
    return 0;
  });
}

// The groups of a real machine.
class LimitGroupsTest : public testing::Test {
 protected:
  LimitGroupsTest()
      : unified_(find_cgroups(name())), limits_(LimitGroups::find(name(), unified_)) {}
  ~LimitGroupsTest() override {
    limits_.remove();
    if (!unified_.empty()) remove_cgroup(unified_);
  }
  // Makes the groups of a task, and returns them.
  std::vector<std::string> make(const TaskBounds& bounds) {
    const std::string own = unified_.empty() ? std::string() : unified_ + "/1.1";
    EXPECT_TRUE(own.empty() || make_cgroup(own));
    auto made = limits_.make("1.1", own, bounds);
    EXPECT_TRUE(made) << made.error().message;
    std::vector<std::string> groups = made.value_or(std::vector<std::string>());
    if (!own.empty()) groups.push_back(own);
    return groups;
  }

  const std::string unified_;
  const LimitGroups limits_;
};

TEST_F(LimitGroupsTest, DeniedDevicesCannotBeOpened) {
  if (!limits_.has_devices()) GTEST_SKIP() << "no cgroups here that limit devices";
  const auto groups = make({.denied = {kFull, {195, 3}}});
  EXPECT_EQ(error_of_open(groups, "/dev/full"), EPERM);
  EXPECT_EQ(error_of_open(groups, "/dev/zero"), 0);
  EXPECT_EQ(error_of_open({}, "/dev/full"), 0);
  limits_.remove("1.1");
  for (const std::string& group : groups)
    EXPECT_EQ(std::filesystem::exists(group), group.starts_with(unified_ + "/")) << group;
}

TEST_F(LimitGroupsTest, AProcessThatNeedsMoreMemoryIsEnded) {
  if (!limits_.has_memory()) GTEST_SKIP() << "no cgroups here that limit memory";
  const auto groups = make({.memory_bytes = 32 * kMiB});
  const int good = status_of_process_with(groups, 8 * kMiB);
  EXPECT_TRUE(WIFEXITED(good) && WEXITSTATUS(good) == 0);
  EXPECT_FALSE(std::ranges::any_of(groups, has_run_out_of_memory));
  const int bad = status_of_process_with(groups, 64 * kMiB);
  EXPECT_TRUE(WIFSIGNALED(bad) && WTERMSIG(bad) == SIGKILL);
  EXPECT_TRUE(std::ranges::any_of(groups, has_run_out_of_memory));
}

TEST_F(LimitGroupsTest, TheProcessorGroupHasAWeightAndAQuota) {
  if (!limits_.has_cpu()) GTEST_SKIP() << "no cgroups here that limit processors";
  const auto groups = make({.cpu_milli = 500, .cpu_weight = 3});
  EXPECT_TRUE(std::ranges::any_of(groups, [](const std::string& group) {
    return (text_of(group + "/cpu.shares") == "3072\n" &&
            text_of(group + "/cpu.cfs_quota_us") == "50000\n") ||
           (text_of(group + "/cpu.weight") == "300\n" &&
            text_of(group + "/cpu.max") == "50000 100000\n");
  }));
}

TEST_F(LimitGroupsTest, ATaskWithoutGpusHasATenthOfTheWeightOfOneGpu) {
  if (!limits_.has_cpu()) GTEST_SKIP() << "no cgroups here that limit processors";
  const auto groups = make({.cpu_weight = 0});
  EXPECT_TRUE(std::ranges::any_of(groups, [](const std::string& group) {
    return text_of(group + "/cpu.shares") == "102\n" || text_of(group + "/cpu.weight") == "10\n";
  }));
}

TEST_F(LimitGroupsTest, ATaskWithoutLimitsIsInNoGroupOfMemoryOrDevices) {
  for (const std::string& group : make({})) {
    EXPECT_FALSE(std::filesystem::exists(group + "/memory.limit_in_bytes")) << group;
    EXPECT_FALSE(std::filesystem::exists(group + "/devices.deny")) << group;
  }
}

// A program of cgroup v2 works beside cgroup v1.
// A daemon that is killed just after it has started a task: the shim joins its groups later.
TEST_F(LimitGroupsTest, TheNextDaemonLeavesGroupsThatNoProcessHasJoinedYet) {
  const auto groups = make({.memory_bytes = 1 << 30, .cpu_weight = 1, .denied = {kFull}});
  EXPECT_EQ(find_cgroups(name()), unified_);
  (void)LimitGroups::find(name(), unified_);
  for (const std::string& group : groups) EXPECT_TRUE(std::filesystem::exists(group)) << group;
}

TEST(DeviceProgram, DeniesTheseDevicesAlone) {
  const std::string unified = find_cgroups(name());
  if (unified.empty() || !can_deny_devices(unified)) {
    remove_cgroup(unified);
    GTEST_SKIP() << "no programs for devices here";
  }
  const std::string group = unified + "/1.1";
  ASSERT_TRUE(make_cgroup(group));
  const Status status = deny_devices(group, std::vector<DeviceNumber>{{195, 0}, kFull, {195, 2}});
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(error_of_open({group}, "/dev/full"), EPERM);
  EXPECT_EQ(error_of_open({group}, "/dev/zero"), 0);
  EXPECT_EQ(error_of_open({group}, "/dev/null"), 0);
  // Another program adds to the first one.
  EXPECT_TRUE(deny_devices(group, std::vector<DeviceNumber>{kZero}));
  EXPECT_EQ(error_of_open({group}, "/dev/full"), EPERM);
  EXPECT_EQ(error_of_open({group}, "/dev/zero"), EPERM);
  EXPECT_EQ(error_of_open({group}, "/dev/null"), 0);
  remove_cgroup(group);
  remove_cgroup(unified);
}

TEST(DeviceProgram, AFolderThatIsNoGroupIsAnError) {
  EXPECT_FALSE(deny_devices("/tmp", std::vector<DeviceNumber>{kFull}));
  EXPECT_FALSE(deny_devices("/no/such/group", {}));
  EXPECT_FALSE(can_deny_devices("/tmp"));
}

// A folder with the files of a group of cgroup v2 that has controllers, which the kernel may have given to cgroup v1.
class UnifiedTest : public testing::Test {
 protected:
  UnifiedTest() : folder_((std::filesystem::temp_directory_path() / (name() + ".v2")).string()) {
    std::filesystem::create_directories(folder_ + "/1.1");
    std::ofstream(folder_ + "/cgroup.subtree_control") << "cpuset cpu memory\n";
  }
  ~UnifiedTest() override { std::filesystem::remove_all(folder_); }
  void add(const char* file) const { std::ofstream(folder_ + "/1.1/" + file).flush(); }
  std::string text(const char* file) const { return text_of(folder_ + "/1.1/" + file); }

  const std::string folder_;
};

TEST_F(UnifiedTest, TheTasksGroupHasTheLimits) {
  for (const char* file :
       {"memory.max", "memory.swap.max", "memory.oom.group", "cpu.weight", "cpu.max"})
    add(file);
  LimitGroups limits;
  limits.use_unified(folder_);
  EXPECT_TRUE(limits.has_memory() && limits.has_cpu());
  EXPECT_FALSE(limits.has_devices()) << "it is no group";
  const auto made =
      limits.make("1.1", folder_ + "/1.1",
                  {.memory_bytes = 32'000'000'000, .cpu_milli = 4500, .cpu_weight = 8});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, std::vector<std::string>());
  EXPECT_EQ(text("memory.max"), "32000000000");
  EXPECT_EQ(text("memory.swap.max"), "0");
  EXPECT_EQ(text("memory.oom.group"), "1");
  EXPECT_EQ(text("cpu.weight"), "800");
  EXPECT_EQ(text("cpu.max"), "450000 100000");
}

TEST_F(UnifiedTest, ALimitThatCannotBeSetIsAnError) {
  add("cpu.weight");
  LimitGroups limits;
  limits.use_unified(folder_);
  EXPECT_TRUE(limits.make("1.1", folder_ + "/1.1", {}));
  EXPECT_FALSE(limits.make("1.1", folder_ + "/1.1", {.memory_bytes = kMiB}));
  EXPECT_FALSE(limits.make("1.1", folder_ + "/1.1", {.cpu_milli = 500}));
}

TEST_F(UnifiedTest, ControllersThatAreNotPassedOnAreMissing) {
  std::ofstream(folder_ + "/cgroup.subtree_control") << "cpuset memory\n";
  LimitGroups limits;
  limits.use_unified(folder_);
  EXPECT_TRUE(limits.has_memory());
  EXPECT_FALSE(limits.has_cpu());
}

TEST_F(UnifiedTest, EndsForLackOfMemoryAreCounted) {
  const std::string group = folder_ + "/1.1";
  EXPECT_FALSE(has_run_out_of_memory(group));
  std::ofstream(group + "/memory.events") << "low 0\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n";
  EXPECT_FALSE(has_run_out_of_memory(group));
  std::ofstream(group + "/memory.events") << "low 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n";
  EXPECT_TRUE(has_run_out_of_memory(group));
  std::filesystem::remove(group + "/memory.events");
  std::ofstream(group + "/memory.oom_control") << "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
  EXPECT_TRUE(has_run_out_of_memory(group));
}

}  // namespace
}  // namespace fairlead
