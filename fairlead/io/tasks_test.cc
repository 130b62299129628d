#include "fairlead/io/tasks.h"

#include "fairlead/io/spawn.h"
#include "fairlead/io/testing_real_io.h"
#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

namespace fairlead {
namespace {

using State = TaskStatus::State;
class TasksTest : public RealIoTest {};

constexpr std::uint32_t kOtherUser = 65534;

INSTANTIATE_TEST_SUITE_P(Tasks, TasksTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

constexpr const char* kTicking = "while echo tick; do :; done > $FIFO";
// Ends by SIGKILL alone.
constexpr const char* kStubborn =
    "trap '' TERM HUP INT; echo $$ > $FIFO; while :; do sleep 1000; done";

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

TEST_P(TasksTest, TheCodeOfATaskArrives) {
  start(1, "exit 3");
  EXPECT_EQ(end_of(id(1)), code(3));
  start(2, "exit 0");
  EXPECT_EQ(end_of(id(2)), code(0));
}

TEST_P(TasksTest, TheSignalThatEndedATaskArrives) {
  start(1, "kill -SEGV $$");
  EXPECT_EQ(end_of(id(1)), signal(SIGSEGV));
}

TEST_P(TasksTest, TheFirstProcessThatEndsBadlyEndsTheOthers) {
  TaskSpec spec = script(1, "if [ $RANK = 2 ]; then exit 5; fi; while :; do sleep 1000; done");
  spec.processes = 4;
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(5));
}

TEST_P(TasksTest, ATaskEndsOnceAllItsProcessesHave) {
  TaskSpec spec = script(1, "echo $RANK $LOCAL_RANK $WORLD_SIZE");
  spec.processes = 3;
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  std::istringstream lines(log());
  std::vector<std::string> ranks;
  for (std::string line; std::getline(lines, line);) ranks.push_back(line);
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(ranks, (std::vector<std::string>{"0 0 3", "1 1 3", "2 2 3"}));
}

TEST_P(TasksTest, AFrozenTaskMakesNoProgressAndGoesOnAfterwards) {
  start(1, kTicking);
  EXPECT_EQ(fifo().line(), "tick");
  EXPECT_EQ(state(id(1)), State::kRunning);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(io_->freeze(id(1)));  // twice is once
    EXPECT_EQ(state(id(1)), State::kFrozen);
    EXPECT_FALSE(is_going_on());
  }
  ASSERT_TRUE(io_->thaw(id(1)));
  EXPECT_EQ(state(id(1)), State::kRunning);
  fifo().drain();
  EXPECT_TRUE(fifo().has_more(kLongMs));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, FreezingReachesProcessesThatDetachedThemselves) {
  start(1, std::string("setsid sh -c '(") + kTicking + ") & exit' & while :; do sleep 1000; done");
  EXPECT_EQ(fifo().line(), "tick");
  ASSERT_TRUE(io_->freeze(id(1)));
  EXPECT_FALSE(is_going_on());
}

TEST_P(TasksTest, FreezingAnEndedTaskDoesNothing) {
  start(1, "exit 0");
  end_of(id(1));
  EXPECT_TRUE(io_->freeze(id(1)));
  EXPECT_TRUE(io_->thaw(id(1)));
  io_->interrupt(id(1));
  io_->kill(id(1));
}

TEST_P(TasksTest, KillEndsProcessesThatDetachedThemselvesAndIgnoreSignals) {
  start(1, std::string("(setsid sh -c \"") +
               "trap '' TERM HUP; echo \\$\\$ > $FIFO; while :; do sleep 1000; done" +
               "\" &) & wait; while :; do sleep 1000; done");
  const pid_t pid = std::stoi(fifo().line());
  EXPECT_FALSE(is_gone(pid));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  EXPECT_TRUE(is_gone(pid));
}

TEST_P(TasksTest, WhatATaskLeavesBehindEndsWithIt) {
  const Fifo go(fifo().path() + ".go");
  start(1,
        "setsid sh -c 'trap \"\" TERM HUP; echo $$ > $FIFO; while :; do sleep 1000; done' & "
        "read line < $FIFO.go; exit 0");
  const pid_t pid = std::stoi(fifo().line());
  go.write("go\n");
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_TRUE(is_gone(pid));
}

// Processes that start another one and end, again and again, like a fork bomb.
TEST_P(TasksTest, ProcessesThatRunAwayAreFrozenAndEnded) {
  TaskSpec spec = script(1, "sh -c \"$RUN\"; while :; do sleep 1000; done");
  spec.environment.push_back("RUN=echo tick > $FIFO; sh -c \"$RUN\" & exit");
  start(spec);
  EXPECT_EQ(fifo().line(), "tick");
  const Status frozen = io_->freeze(id(1));
  // Signals may not catch up with them, which is then reported.
  EXPECT_TRUE(frozen || !GetParam());
  if (frozen) {
    EXPECT_FALSE(is_going_on());
  }
  ASSERT_TRUE(io_->thaw(id(1)));
  fifo().drain();
  EXPECT_EQ(fifo().line(), "tick");
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  EXPECT_FALSE(is_going_on());
}

TEST_P(TasksTest, InterruptLetsATaskWriteItsCheckpoint) {
  start(1, "trap 'echo checkpoint; exit 9' TERM; echo ready > $FIFO; while :; do :; done");
  fifo().line();
  ASSERT_TRUE(io_->freeze(id(1)));
  io_->interrupt(id(1));  // thaws it
  EXPECT_EQ(end_of(id(1)), code(9));
  EXPECT_TRUE(was_asked_);
  EXPECT_EQ(log(), "checkpoint\n");
}

TEST_P(TasksTest, OneThatEndedBeforeItWasAskedToSaysSo) {
  start(1, "exit 4");
  const auto mark = shim::read_mark((folder_ / "tasks" / "7.1").string());
  ASSERT_TRUE(mark);
  const Descriptor process(shim::open_process(mark->pid));
  ASSERT_TRUE(has_ended(process, kLongMs));
  io_->interrupt(id(1));
  EXPECT_EQ(end_of(id(1)), code(4));
  EXPECT_FALSE(was_asked_);
}

TEST_P(TasksTest, InterruptLetsTheOthersWriteWhenTheFirstEndsByTheSignal) {
  TaskSpec spec =
      script(1,
             "if [ $RANK = 0 ]; then trap 'read line < $FIFO.go; echo written; exit 0' TERM; fi; "
             "echo $$ > $FIFO; while :; do :; done");
  spec.processes = 2;
  const Fifo go(fifo().path() + ".go");
  start(spec);
  const pid_t pids[] = {std::stoi(fifo().line()), std::stoi(fifo().line())};
  io_->interrupt(id(1));
  // One is gone by the signal, the other one still writes.
  while (!is_gone(pids[0]) && !is_gone(pids[1])) {
    io_->wait(io_->now() + milliseconds(1));
  }
  go.write("go\n");
  EXPECT_EQ(end_of(id(1)), signal(SIGTERM));
  EXPECT_EQ(log(), "written\n");
}

TEST_P(TasksTest, InterruptTellsWhatAShellLeavesBehind) {
  start(1,
        "sh -c 'trap \"echo written; exit 0\" TERM; echo ready > $FIFO; while :; do :; done'; exit "
        "1");
  fifo().line();
  io_->interrupt(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGTERM));
  EXPECT_EQ(log(), "written\n");
}

TEST_P(TasksTest, ATaskThatHasNoHandlerCannotSaveItsWork) {
  start(1, "echo up > $FIFO; while :; do sleep 1000; done");
  EXPECT_EQ(fifo().line(), "up");
  EXPECT_FALSE(io_->reports(id(1), 0).can_save);
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, WorkersDecideWhetherATaskCanSaveItsWork) {
  start(1, "trap 'exit 0' TERM; echo up > $FIFO; sleep 1000");
  EXPECT_EQ(fifo().line(), "up");
  // Until the shell, which has a handler, has started its worker, which has none.
  while (io_->reports(id(1), 0).can_save) {
  }
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  start(2, "trap 'exit 0' TERM; echo up > $FIFO; while :; do :; done");
  EXPECT_EQ(fifo().line(), "up");
  EXPECT_TRUE(io_->reports(id(2), 0).can_save);
  io_->kill(id(2));
  EXPECT_EQ(end_of(id(2)), signal(SIGKILL));
}

TEST_P(TasksTest, ATaskThatBlocksTheSignalCanSaveItsWork) {
  start(1, "env --block-signal=TERM sh -c 'echo up > $FIFO; while :; do :; done'");
  EXPECT_EQ(fifo().line(), "up");
  EXPECT_TRUE(io_->reports(id(1), 0).can_save);
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, KillEndsATaskThatDoesNotLeave) {
  start(1, kStubborn);
  fifo().line();
  io_->interrupt(id(1));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, AFrozenTaskThatIsKilledByOthersEnds) {
  start(1, "echo $$ > $FIFO; while :; do :; done");
  const pid_t pid = std::stoi(fifo().line());
  ASSERT_TRUE(io_->freeze(id(1)));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, AnotherDaemonFindsTasksAsTheyAre) {
  const Fifo other(fifo().path() + ".2");
  start(1, kTicking);
  start(2, "echo $$ > $FIFO.2; while :; do :; done");
  start(3, "exit 4");
  end_of(id(3));
  other.line();
  ASSERT_TRUE(io_->freeze(id(2)));
  open_again();
  const std::vector<TaskStatus> tasks = io_->tasks();
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0].id, id(1));
  EXPECT_EQ(tasks[0].state, State::kRunning);
  EXPECT_EQ(tasks[1].state, State::kFrozen);
  EXPECT_EQ(tasks[2].state, State::kEnded);
  EXPECT_EQ(tasks[2].end, code(4));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  io_->interrupt(id(2));
  EXPECT_EQ(end_of(id(2)), signal(SIGTERM));
}

TEST_P(TasksTest, ATaskWhoseEndTheShimHasNotNoticedRuns) {
  const Fifo go(fifo().path() + ".go");
  start(1, "echo $PPID > $FIFO; echo $$ > $FIFO; read line < $FIFO.go; exit 6");
  const pid_t shim = std::stoi(fifo().line());
  const pid_t pid = std::stoi(fifo().line());
  ASSERT_EQ(::kill(shim, SIGSTOP), 0);
  go.write("go\n");
  while (!shim::find_process(pid)->has_ended()) io_->wait(io_->now() + milliseconds(1));
  EXPECT_EQ(state(id(1)), State::kRunning);
  ASSERT_EQ(::kill(shim, SIGCONT), 0);
  EXPECT_EQ(end_of(id(1)), code(6));
}

TEST_P(TasksTest, AnotherDaemonFindsWhatEndedMeanwhile) {
  const Fifo go(fifo().path() + ".go");
  start(1, "echo ready > $FIFO; read line < $FIFO.go; exit 6");
  fifo().line();
  io_.reset();
  go.write("go\n");
  open();
  if (state(id(1)) != State::kEnded) end_of(id(1));
  const std::vector<TaskStatus> tasks = io_->tasks();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].end, code(6));
}

TEST_P(TasksTest, TasksOutliveADaemonThatIsKilled) {
  io_.reset();
  const TaskSpec spec = script(1, kTicking);
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    Result<std::unique_ptr<RealIo>> io = RealIo::open(options());
    if (io && (*io)->start(spec)) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(daemon, &status, 0), daemon);
  ASSERT_TRUE(WIFSIGNALED(status));
  open();
  EXPECT_EQ(state(id(1)), State::kRunning);
  EXPECT_TRUE(is_going_on());
  ASSERT_TRUE(io_->freeze(id(1)));
  EXPECT_FALSE(is_going_on());
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(TasksTest, AShimThatComesLateFindsItsTaskTaken) {
  const std::string folder = (folder_ / "tasks" / "7.1").string();
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(shim::write_mark(folder, {.boot = shim::boot_id()}));
  const shim::Spec late{.folder = folder, .directory = "/", .command = {"touch", top_ / "ran"}};
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Result<Spawned> spawned = spawn_shim(FAIRLEAD_SHIM, late, nothing);
  ASSERT_TRUE(spawned) << spawned.error().message;
  EXPECT_EQ(spawned->reply, "cannot take the task: File exists");
  EXPECT_TRUE(reap(spawned->process, kLongMs));
  EXPECT_FALSE(std::filesystem::exists(top_ / "ran"));
  EXPECT_TRUE(io_->tasks().empty());
}

TEST_P(TasksTest, AMarkOfAnotherProcessOfTheSameNumberIsNoTask) {
  start(1, "exit 0");
  end_of(id(1));
  const std::string folder = (folder_ / "tasks" / "7.1").string();
  shim::Mark mark = shim::read_mark(folder).value();
  mark.pid = ::getpid();  // which began at another time
  std::filesystem::remove(folder + "/shim");
  ASSERT_TRUE(shim::write_mark(folder, mark));
  EXPECT_EQ(state(id(1)), State::kEnded);
  mark.started = shim::find_process(::getpid())->started;
  mark.boot = "of another run of the machine";
  std::filesystem::remove(folder + "/shim");
  ASSERT_TRUE(shim::write_mark(folder, mark));
  EXPECT_EQ(state(id(1)), State::kEnded);
}

TEST_P(TasksTest, TheEndOfATaskWhoseShimWasKilledIsUnknown) {
  start(1, "echo $PPID > $FIFO; echo $$ > $FIFO; while :; do sleep 1000; done");
  const pid_t shim = std::stoi(fifo().line());
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  const TaskEnd unknown{.is_known = false};
  EXPECT_EQ(end_of(id(1)), unknown);
  open_again();
  const std::vector<TaskStatus> tasks = io_->tasks();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].state, State::kEnded);
  EXPECT_EQ(tasks[0].end, unknown);
}

TEST_P(TasksTest, AForgottenTaskIsGone) {
  start(1, "exit 0");
  end_of(id(1));
  io_->forget(id(1));
  EXPECT_TRUE(io_->tasks().empty());
}

TEST_P(TasksTest, ATaskThatNoShimTookNeverBegan) {
  std::filesystem::create_directory(folder_ / "tasks" / "7.1");
  EXPECT_TRUE(io_->tasks().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tasks" / "7.1"));
}

TEST_P(TasksTest, NoTaskIsStartedTwice) {
  start(1, "exit 0");
  const Status again = io_->start(script(1, "echo again"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "task 7.1 was started before");
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "");
}

TEST_P(TasksTest, AProgramThatCannotBeRunIsToldWithTheReason) {
  TaskSpec spec = script(1, "");
  spec.command = {"no-such-program"};
  const Status failed = io_->start(spec);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "exit code 127: cannot run no-such-program: No such file or directory");
  spec.folder = "/no/such/folder";
  const Status elsewhere = io_->start(spec);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().message,
            "exit code 126: cannot enter /no/such/folder: No such file or directory");
  EXPECT_TRUE(io_->tasks().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tasks" / "7.1"));
}

TEST_P(TasksTest, WhereOneOfSeveralCannotBeRunNothingIsLeft) {
  TaskSpec spec = script(1, "");
  spec.command = {"no-such-program"};
  spec.processes = 8;
  EXPECT_FALSE(io_->start(spec));
  EXPECT_TRUE(io_->tasks().empty());
}

TEST_P(TasksTest, ATaskHasTheEnvironmentTheFolderAndTheUmaskAskedFor) {
  TaskSpec spec =
      script(1, "pwd; umask; env | grep -v -e ^_= -e ^PWD= | sort; cat; ls /proc/self/fd");
  spec.environment = {"PATH=/usr/bin:/bin", "B=two words", "A="};
  spec.folder = "/usr";
  spec.umask = 027;
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "/usr\n0027\nA=\nB=two words\nPATH=/usr/bin:/bin\n0\n1\n2\n3\n");
}

// Makes system calls that Linux 5.4 does not have fail, in this thread and in the processes that it starts.
void act_as_linux_5_4() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_clone3 + 1, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(steps), steps};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_P(TasksTest, ATaskHasNoDescriptorOfTheDaemonOnLinux54) {
  const int inherited = ::open("/dev/null", O_RDONLY);
  std::thread([this] {
    act_as_linux_5_4();
    start(1, "ls /proc/self/fd");
  }).join();
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "0\n1\n2\n3\n");
  ::close(inherited);
}

TEST_P(TasksTest, SignalsOfATaskAreAsInANewSession) {
  ::signal(SIGPIPE, SIG_IGN);
  start(1, "sed -n 's/^Sig\\(Blk\\|Ign\\):\\t/0x/p' /proc/self/status");
  EXPECT_EQ(end_of(id(1)), code(0));
  std::istringstream lines(log());
  std::uint64_t blocked = 1;
  std::uint64_t ignored = 1;
  lines >> std::hex >> blocked >> ignored;
  EXPECT_EQ(blocked, 0U);
  // Signals that glibc reserves for itself, and that posix_spawn ignores.
  EXPECT_EQ(ignored & ~std::uint64_t{0x180000000}, 0U);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_P(TasksTest, OutputOfAJobIsAppendedAndItsOwnersAlone) {
  start(1, "echo one; echo two >&2");
  end_of(id(1));
  start(2, "echo three");
  end_of(id(2));
  EXPECT_EQ(log(), "one\ntwo\nthree\n");
  struct stat now {};
  ASSERT_EQ(::stat(io_->log_path(JobId(7)).c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);
}

TEST_P(TasksTest, ProgressIsTheLastLineThatWasWritten) {
  TaskSpec spec =
      script(1, "echo one > $PROGRESS; echo two >> $PROGRESS; printf unfinished >> $PROGRESS");
  spec.environment.push_back("PROGRESS=" + io_->progress_path(id(1)));
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(io_->reports(id(1), 0).progress, "two");
}

TEST_P(TasksTest, StepsOfTheHookAndOutputAreReported) {
  TaskSpec spec = script(1, "echo 5 0 steps 1 >> $(dirname $PROGRESS)/steps; echo some output");
  spec.environment.push_back("PROGRESS=" + io_->progress_path(id(1)));
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  const TaskReports all = io_->reports(id(1), 0);
  EXPECT_EQ(all.progress, "");
  EXPECT_EQ(all.steps, "5 0 steps 1");
  EXPECT_EQ(all.output, "some output\n");
  EXPECT_EQ(all.output_begin, 0U);
  EXPECT_EQ(io_->reports(id(1), 5).output, "output\n");
  const TaskReports none = io_->reports(id(1), ~std::uint64_t{0});
  EXPECT_EQ(none.output, "");
  EXPECT_EQ(none.output_begin, 12U);
  std::ofstream(io_->log_path(JobId(7)), std::ios::app) << std::string(100'000, 'x') << "end";
  const TaskReports tail = io_->reports(id(1), 12);
  EXPECT_EQ(tail.output.size(), kOutputBytesMax);
  EXPECT_TRUE(tail.output.ends_with("xend"));
  EXPECT_EQ(tail.output_begin, 100'015 - kOutputBytesMax);
}

TEST_P(TasksTest, ProgressIsReadFromAPlainFileOnly) {
  start(1, "exit 0");
  end_of(id(1));
  const std::string path = io_->progress_path(id(1));
  EXPECT_EQ(io_->reports(id(1), 0).progress, "");
  std::filesystem::remove(path);
  EXPECT_EQ(io_->reports(id(1), 0).progress, "");
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_EQ(io_->reports(id(1), 0).progress, "");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(io_->reports(id(1), 0).progress, "");  // and does not wait for a writer
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(100'000, 'x') << "\nshort\n" << std::string(100'000, 'x');
  EXPECT_EQ(io_->reports(id(1), 0).progress, "");  // the line starts before the part that is read
}

TEST_P(TasksTest, ALogThatIsALinkIsNotFollowed) {
  std::filesystem::create_symlink(top_ / "elsewhere", io_->log_path(JobId(7)));
  EXPECT_FALSE(io_->start(script(1, "echo text")));
  EXPECT_FALSE(std::filesystem::exists(top_ / "elsewhere"));
}

TEST_P(TasksTest, ATaskRunsAsItsUserAndReadsNoFileOfTheDaemon) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start tasks of others";
  ASSERT_TRUE(io_->write("jobs/7", "secret"));
  TaskSpec spec =
      script(1, "id -u; id -g; id -G; cat " + folder_.string() + "/jobs/7; ls " + folder_.string() +
                    "; echo half > $PROGRESS; rm -f $PROGRESS; "
                    "grep ^Cap[EP] /proc/self/status; exit 0");
  spec.uid = spec.gid = kOtherUser;
  spec.environment.push_back("PROGRESS=" + io_->progress_path(id(1)));
  spec.environment.push_back("LC_ALL=C");
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log().substr(0, 18), "65534\n65534\n65534\n");
  EXPECT_EQ(log().find("secret"), std::string::npos);
  EXPECT_NE(log().find("cannot open directory"), std::string::npos) << log();
  EXPECT_NE(log().find("CapPrm:\t0000000000000000"), std::string::npos) << log();
  EXPECT_EQ(io_->reports(id(1), 0).progress, "half");  // its user can write it, and not replace it
  struct stat now {};
  ASSERT_EQ(::stat(io_->log_path(JobId(7)).c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, kOtherUser);
}

TEST_P(TasksTest, OutputIsNotAppendedToAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start tasks of others";
  start(1, "echo secret");
  end_of(id(1));
  TaskSpec spec = script(2, "echo text");
  spec.uid = spec.gid = kOtherUser;
  EXPECT_FALSE(io_->start(spec));
  EXPECT_EQ(log(), "secret\n");
}

TEST_P(TasksTest, OnlyRootRunsTasksOfOthers) {
  if (::geteuid() == 0) GTEST_SKIP() << "this is root";
  TaskSpec spec = script(1, "exit 0");
  spec.uid = ::geteuid() + 1;
  EXPECT_FALSE(io_->start(spec));
}

TEST_P(TasksTest, ATaskOfAnotherUserIsFrozenAndEnded) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start tasks of others";
  TaskSpec spec = script(1, kTicking);
  spec.uid = spec.gid = kOtherUser;
  start(spec);
  EXPECT_EQ(fifo().line(), "tick");
  ASSERT_TRUE(io_->freeze(id(1)));
  EXPECT_FALSE(is_going_on());
  io_->interrupt(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGTERM));
}

}  // namespace
}  // namespace fairlead
