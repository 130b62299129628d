// Tasks with limits of memory and processors on a real machine.

#include "fairlead/io/testing_real_io.h"
#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"

#include <csignal>
#include <filesystem>

namespace fairlead {
namespace {

// A task within limits of memory and processors.
class LimitedTasksTest : public RealIoTest {
 protected:
  void SetUp() override {
    RealIoTest::SetUp();
    if (!io_->missing_limits().empty()) GTEST_SKIP() << io_->missing_limits().front();
  }
  TaskSpec limited(std::string text) const {
    TaskSpec spec = script(1, std::move(text));
    spec.memory_mb = 64;
    spec.cpu_milli = 500;
    return spec;
  }
  std::vector<std::string> groups() const {
    return shim::read_mark((folder_ / "tasks" / "7.1").string()).value().limit_groups;
  }
};
INSTANTIATE_TEST_SUITE_P(Tasks, LimitedTasksTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

// It reads a line without an end.
constexpr const char* kGreedy = "echo ready > $FIFO; read line < $FIFO.go; exec tail /dev/zero";

TEST_P(LimitedTasksTest, ATaskThatNeedsMoreMemoryIsEnded) {
  const Fifo go(fifo().path() + ".go");
  start(limited(kGreedy));
  const Fifo other(fifo().path() + ".other");
  start(2, "read line < $FIFO.other; exit 5");
  fifo().line();
  go.write("go\n");
  const IoEvent event = next();
  EXPECT_EQ(event.task, id(1));
  EXPECT_EQ(event.end, (TaskEnd{.signal = SIGKILL, .has_no_memory = true}));
  other.write("go\n");
  EXPECT_EQ(end_of(id(2)), code(5));
}

TEST_P(LimitedTasksTest, AnotherDaemonFindsThatOneHadTooLittleMemory) {
  const Fifo go(fifo().path() + ".go");
  start(limited(kGreedy));
  fifo().line();
  io_.reset();
  go.write("go\n");
  open();
  if (state(id(1)) != TaskStatus::State::kEnded) end_of(id(1));
  const std::vector<TaskStatus> tasks = io_->tasks();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].end, (TaskEnd{.signal = SIGKILL, .has_no_memory = true}));
}

TEST_P(LimitedTasksTest, TheGroupsOfATaskGoWithIt) {
  start(limited("echo ready > $FIFO; while :; do sleep 1000; done"));
  fifo().line();
  std::vector<std::string> made = groups();
  open_again();
  EXPECT_EQ(state(id(1)), TaskStatus::State::kRunning);
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  io_->forget(id(1));
  for (const std::string& group : made) EXPECT_FALSE(std::filesystem::exists(group)) << group;
}

TEST_P(LimitedTasksTest, GroupsOfATaskThatDoesNotStartAreRemoved) {
  TaskSpec spec = limited("exit 0");
  spec.command = {"/no/such/program"};
  start(2, "echo ready > $FIFO; while :; do sleep 1000; done");
  fifo().line();
  EXPECT_FALSE(io_->start(spec));
  const auto mark = shim::read_mark((folder_ / "tasks" / "7.2").string()).value();
  for (const std::string& group : mark.limit_groups) {
    const auto other = std::filesystem::path(group).parent_path() / "7.1";
    EXPECT_FALSE(std::filesystem::exists(other)) << other;
  }
}

TEST_P(LimitedTasksTest, LeftoversOfATaskWhoseShimWasKilledAreEnded) {
  const Fifo parent(fifo().path() + ".shim");
  start(
      limited("setsid sh -c 'echo $$ > $FIFO; while :; do sleep 1000; done' & "
              "echo $PPID > $FIFO.shim; wait"));
  const pid_t leftover = std::stoi(fifo().line());
  const std::vector<std::string> made = groups();
  ASSERT_EQ(::kill(std::stoi(parent.line()), SIGKILL), 0);
  EXPECT_FALSE(next().end.is_known);
  const auto left = shim::find_process(leftover);
  EXPECT_TRUE(!left || left->has_ended());
  io_->forget(id(1));
  for (const std::string& group : made) EXPECT_FALSE(std::filesystem::exists(group)) << group;
}

TEST_P(LimitedTasksTest, TheCommandIsInTheGroupsFromTheStart) {
  TaskSpec spec = limited("");
  spec.command = {"cat", "/proc/self/cgroup"};
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  for (const std::string& group : groups())
    EXPECT_NE(log().find(group.substr(group.find("/fairlead/"))), std::string::npos) << group;
}

}  // namespace
}  // namespace fairlead
