// The owners of processes on GPUs, with a library in NVML's place (testing_nvml.cc).

#include "fairlead/io/gpus.h"

#include "fairlead/io/accounts.h"
#include "fairlead/io/testing_real_io.h"

#include <csignal>

namespace fairlead {
namespace {

class GpusTest : public RealIoTest {
 protected:
  GpusTest() : says_(top_ / "nvml") {
    say("");
    ::setenv("FAIRLEAD_TESTING_NVML", says_.c_str(), 1);
    io_.reset();
    RealIoOptions with_gpus = options();
    with_gpus.has_gpus = true;
    with_gpus.gpu_libraries.nvml = {FAIRLEAD_TESTING_NVML_LIBRARY};
    auto opened = RealIo::open(with_gpus);
    EXPECT_TRUE(opened) << opened.error().message;
    io_ = *std::move(opened);
  }
  ~GpusTest() override { ::unsetenv("FAIRLEAD_TESTING_NVML"); }

  void SetUp() override {
    RealIoTest::SetUp();
    say_on("GPU-a", ::getpid());
    if (processes().empty())
      GTEST_SKIP() << "a container, in which the driver's processes are not found";
    say("");
  }
  void say(const std::string& processes) const {
    std::ofstream(says_) << "gpu GPU-a 7 A\ngpu GPU-b 90 B\n" << processes;
  }
  void say_on(const char* gpu, pid_t pid) const { say(fmt::format("process {} {}\n", gpu, pid)); }
  // By type, not in the driver's order.
  std::optional<GpuLook> look() const {
    return io_->look_at_gpus(std::vector<std::string>{"GPU-b", "GPU-a"});
  }
  std::vector<GpuProcess> processes() const { return look()->processes; }

 private:
  std::filesystem::path says_;
};

INSTANTIATE_TEST_SUITE_P(Gpus, GpusTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

TEST_P(GpusTest, AProcessOfNoTaskIsNamed) {
  EXPECT_EQ(processes(), std::vector<GpuProcess>());
  EXPECT_EQ(look()->busy_percent, (std::vector<int>{90, 7}));
  EXPECT_EQ(look()->memory, (std::vector<GpuMemory>{{17'179, 0}, {17'179, 0}}));
  say_on("GPU-a", ::getpid());
  std::string name = text_of_file("/proc/self/comm");
  name.pop_back();
  const GpuProcess self = {.gpu = 1,
                           .pid = static_cast<std::uint64_t>(::getpid()),
                           .name = name,
                           .user = account_name(::geteuid()),
                           .is_root = ::geteuid() == 0};
  EXPECT_EQ(processes(), std::vector<GpuProcess>{self});
}

TEST_P(GpusTest, WhatIsBelowATaskIsItsOwnHoweverItDetachedItself) {
  start(1,
        "(setsid sh -c 'echo $$ > $FIFO; while :; do sleep 1000; done' &) & "
        "wait; while :; do sleep 1000; done");
  const pid_t pid = std::stoi(fifo().line());
  say_on("GPU-a", pid);
  ASSERT_EQ(processes().size(), 1U);
  EXPECT_EQ(processes()[0].task, id(1));
}

TEST_P(GpusTest, ATaskThatTheNextDaemonFindsIsNotForeign) {
  start(1, "echo $$ > $FIFO; while :; do sleep 1000; done");
  const pid_t pid = std::stoi(fifo().line());
  io_.reset();
  RealIoOptions again = options();
  again.has_gpus = true;
  again.gpu_libraries.nvml = {FAIRLEAD_TESTING_NVML_LIBRARY};
  io_ = RealIo::open(again).value();
  ASSERT_EQ(io_->tasks().size(), 1U);
  say_on("GPU-b", pid);
  ASSERT_EQ(processes().size(), 1U);
  EXPECT_EQ(processes()[0].task, id(1));
}

TEST_P(GpusTest, AProcessThatHasEndedIsNotNamed) {
  say_on("GPU-a", 4'194'305);  // more than there can be
  EXPECT_EQ(processes(), std::vector<GpuProcess>());
}

TEST_P(GpusTest, StandInsSayNothing) {
  open_again();
  EXPECT_FALSE(look());
}

}  // namespace
}  // namespace fairlead
