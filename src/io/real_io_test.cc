#include "fairlead/io/real_io.h"

#include "fairlead/io/spawn.h"
#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {
namespace {

using Kind = IoEvent::Kind;
using State = TaskStatus::State;

constexpr int kLongMs = 60'000;  // a test that waits so long has failed
constexpr std::uint32_t kOtherUser = 65534;

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A named pipe, by which processes tell a test how far they are.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0666), 0) << std::strerror(errno);
    EXPECT_EQ(::chmod(path_.c_str(), 0666), 0);
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  ~Fifo() { ::close(descriptor_); }

  const std::string& path() const { return path_; }

  bool has_more(int limit_ms) const {
    pollfd ready{descriptor_, POLLIN, 0};
    return ::poll(&ready, 1, limit_ms) > 0;
  }
  std::string line() const {
    std::string text;
    for (char c = 0; has_more(kLongMs) && ::read(descriptor_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  void write(std::string_view bytes) const {
    EXPECT_EQ(::write(descriptor_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void drain() const {
    char bytes[4096];
    while (::read(descriptor_, bytes, sizeof bytes) > 0) {
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

class Client {
 public:
  explicit Client(const std::filesystem::path& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  int socket() const { return socket_; }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Up to `count` bytes, fewer where the other end closes.
  std::string receive(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t got = ::recv(socket_, bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

 private:
  int socket_;
};

class RealIoTest : public testing::TestWithParam<bool> {
 protected:
  RealIoTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead.XXXXXX").string();
    top_ = ::mkdtemp(name.data());
    ::chmod(top_.c_str(), 0755);
    folder_ = top_ / "state";
    open();
  }
  ~RealIoTest() override {
    if (io_ == nullptr) return;
    for (const TaskStatus& task : io_->tasks()) {
      if (task.state != State::kEnded) {
        io_->kill(task.id);
        end_of(task.id);
      }
      io_->forget(task.id);
    }
    io_.reset();
    std::filesystem::remove_all(top_);
  }

  void SetUp() override {
    ASSERT_NE(io_, nullptr);
    if (GetParam() && !io_->uses_cgroups()) GTEST_SKIP() << "no cgroups here that may be used";
  }

  RealIoOptions options() const {
    return {.folder = folder_, .shim = FAIRLEAD_SHIM, .use_cgroups = GetParam()};
  }
  void open() {
    Result<std::unique_ptr<RealIo>> io = RealIo::open(options());
    ASSERT_TRUE(io) << io.error().message;
    io_ = *std::move(io);
  }
  // A daemon that leaves, and another that comes.
  void open_again() {
    io_.reset();
    open();
  }

  static TaskId id(std::uint32_t hold) { return {JobId(7), hold}; }
  TaskSpec script(std::uint32_t hold, std::string text) const {
    return {.id = id(hold),
            .uid = ::geteuid(),
            .gid = ::getegid(),
            .command = {"sh", "-c", std::move(text)},
            .environment = {"PATH=/usr/bin:/bin", "FIFO=" + fifo().path()},
            .folder = "/"};
  }
  void start(const TaskSpec& spec) {
    const Status status = io_->start(spec);
    ASSERT_TRUE(status) << status.error().message;
  }
  void start(std::uint32_t hold, std::string text) { start(script(hold, std::move(text))); }

  IoEvent next() { return io_->wait(io_->now() + milliseconds(kLongMs)); }
  TaskEnd end_of(TaskId task) {
    const IoEvent event = next();
    EXPECT_EQ(event.kind, Kind::kTaskEnded);
    EXPECT_EQ(event.task, task);
    was_asked_ = event.end.was_asked;
    return {event.end.is_known, event.end.code, event.end.signal};
  }
  static TaskEnd code(int code) { return {.code = code}; }
  static TaskEnd signal(int signal) { return {.signal = signal}; }

  // What the task's log has, up to now.
  std::string log() { return text_of_file(io_->log_path(JobId(7))); }
  State state(TaskId task) {
    for (const TaskStatus& status : io_->tasks()) {
      if (status.id == task) return status.state;
    }
    ADD_FAILURE() << "there is no such task";
    return State::kEnded;
  }
  // Whether what writes to the pipe goes on.
  bool is_going_on() {
    fifo().drain();
    return fifo().has_more(100);
  }
  const Fifo& fifo() const {
    if (fifo_ == nullptr) fifo_ = std::make_unique<Fifo>((top_ / "fifo").string());
    return *fifo_;
  }

  std::filesystem::path top_;
  std::filesystem::path folder_;
  std::unique_ptr<RealIo> io_;
  bool was_asked_ = false;  // of the last end_of()
  mutable std::unique_ptr<Fifo> fifo_;
};

INSTANTIATE_TEST_SUITE_P(RealIo, RealIoTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

constexpr const char* kTicking = "while echo tick; do :; done > $FIFO";
// Ends by SIGKILL alone.
constexpr const char* kStubborn =
    "trap '' TERM HUP INT; echo $$ > $FIFO; while :; do sleep 1000; done";

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

TEST_P(RealIoTest, TheCodeOfATaskArrives) {
  start(1, "exit 3");
  EXPECT_EQ(end_of(id(1)), code(3));
  start(2, "exit 0");
  EXPECT_EQ(end_of(id(2)), code(0));
}

TEST_P(RealIoTest, TheSignalThatEndedATaskArrives) {
  start(1, "kill -SEGV $$");
  EXPECT_EQ(end_of(id(1)), signal(SIGSEGV));
}

TEST_P(RealIoTest, TheFirstProcessThatEndsBadlyEndsTheOthers) {
  TaskSpec spec = script(1, "if [ $RANK = 2 ]; then exit 5; fi; while :; do sleep 1000; done");
  spec.processes = 4;
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(5));
}

TEST_P(RealIoTest, ATaskEndsOnceAllItsProcessesHave) {
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

TEST_P(RealIoTest, AFrozenTaskMakesNoProgressAndGoesOnAfterwards) {
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

TEST_P(RealIoTest, FreezingReachesProcessesThatDetachedThemselves) {
  start(1, std::string("setsid sh -c '(") + kTicking + ") & exit' & while :; do sleep 1000; done");
  EXPECT_EQ(fifo().line(), "tick");
  ASSERT_TRUE(io_->freeze(id(1)));
  EXPECT_FALSE(is_going_on());
}

TEST_P(RealIoTest, FreezingAnEndedTaskDoesNothing) {
  start(1, "exit 0");
  end_of(id(1));
  EXPECT_TRUE(io_->freeze(id(1)));
  EXPECT_TRUE(io_->thaw(id(1)));
  io_->interrupt(id(1));
  io_->kill(id(1));
}

TEST_P(RealIoTest, KillEndsProcessesThatDetachedThemselvesAndIgnoreSignals) {
  start(1, std::string("(setsid sh -c \"") +
               "trap '' TERM HUP; echo \\$\\$ > $FIFO; while :; do sleep 1000; done" +
               "\" &) & wait; while :; do sleep 1000; done");
  const pid_t pid = std::stoi(fifo().line());
  EXPECT_FALSE(is_gone(pid));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  EXPECT_TRUE(is_gone(pid));
}

TEST_P(RealIoTest, WhatATaskLeavesBehindEndsWithIt) {
  const Fifo go(fifo().path() + ".go");
  start(1,
        "setsid sh -c 'trap \"\" TERM HUP; echo $$ > $FIFO; while :; do sleep 1000; done' & "
        "read line < $FIFO.go; exit 0");
  const pid_t pid = std::stoi(fifo().line());
  go.write("go\n");
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_TRUE(is_gone(pid));
}

// Processes that begin another one and end, again and again, as a fork bomb does.
TEST_P(RealIoTest, ProcessesThatRunAwayAreFrozenAndEnded) {
  TaskSpec spec = script(1, "sh -c \"$RUN\"; while :; do sleep 1000; done");
  spec.environment.push_back("RUN=echo tick > $FIFO; sh -c \"$RUN\" & exit");
  start(spec);
  EXPECT_EQ(fifo().line(), "tick");
  ASSERT_TRUE(io_->freeze(id(1)));
  EXPECT_FALSE(is_going_on());
  ASSERT_TRUE(io_->thaw(id(1)));
  fifo().drain();
  EXPECT_EQ(fifo().line(), "tick");
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
  EXPECT_FALSE(is_going_on());
}

TEST_P(RealIoTest, InterruptLetsATaskWriteItsCheckpoint) {
  start(1, "trap 'echo checkpoint; exit 9' TERM; echo ready > $FIFO; while :; do :; done");
  fifo().line();
  ASSERT_TRUE(io_->freeze(id(1)));
  io_->interrupt(id(1));  // thaws it
  EXPECT_EQ(end_of(id(1)), code(9));
  EXPECT_TRUE(was_asked_);
  EXPECT_EQ(log(), "checkpoint\n");
}

TEST_P(RealIoTest, OneThatEndedBeforeItWasAskedToSaysSo) {
  start(1, "exit 4");
  const auto mark = shim::read_mark((folder_ / "tasks" / "7.1").string());
  ASSERT_TRUE(mark);
  const Descriptor process(shim::open_process(mark->pid));
  pollfd ended{process.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);
  io_->interrupt(id(1));
  EXPECT_EQ(end_of(id(1)), code(4));
  EXPECT_FALSE(was_asked_);
}

TEST_P(RealIoTest, InterruptLetsTheOthersWriteWhenTheFirstEndsByTheSignal) {
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

TEST_P(RealIoTest, InterruptTellsWhatAShellLeavesBehind) {
  start(1,
        "sh -c 'trap \"echo written; exit 0\" TERM; echo ready > $FIFO; while :; do :; done'; exit "
        "1");
  fifo().line();
  io_->interrupt(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGTERM));
  EXPECT_EQ(log(), "written\n");
}

TEST_P(RealIoTest, KillEndsATaskThatDoesNotLeave) {
  start(1, kStubborn);
  fifo().line();
  io_->interrupt(id(1));
  io_->kill(id(1));
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(RealIoTest, AFrozenTaskThatIsKilledByOthersEnds) {
  start(1, "echo $$ > $FIFO; while :; do :; done");
  const pid_t pid = std::stoi(fifo().line());
  ASSERT_TRUE(io_->freeze(id(1)));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(end_of(id(1)), signal(SIGKILL));
}

TEST_P(RealIoTest, AnotherDaemonFindsTasksAsTheyAre) {
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

TEST_P(RealIoTest, AnotherDaemonFindsWhatEndedMeanwhile) {
  start(1, "echo ready > $FIFO; read line < $FIFO.go; exit 6");
  const Fifo go(fifo().path() + ".go");
  fifo().line();
  io_.reset();
  go.write("go\n");
  open();
  if (state(id(1)) == State::kRunning) end_of(id(1));
  const std::vector<TaskStatus> tasks = io_->tasks();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].end, code(6));
}

TEST_P(RealIoTest, TasksOutliveADaemonThatIsKilled) {
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

TEST_P(RealIoTest, AShimThatComesLateFindsItsTaskTaken) {
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

TEST_P(RealIoTest, AMarkOfAnotherProcessOfTheSameNumberIsNoTask) {
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

TEST_P(RealIoTest, TheEndOfATaskWhoseShimWasKilledIsUnknown) {
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

TEST_P(RealIoTest, AForgottenTaskIsGone) {
  start(1, "exit 0");
  end_of(id(1));
  io_->forget(id(1));
  EXPECT_TRUE(io_->tasks().empty());
}

TEST_P(RealIoTest, ATaskThatNoShimTookNeverBegan) {
  std::filesystem::create_directory(folder_ / "tasks" / "7.1");
  EXPECT_TRUE(io_->tasks().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tasks" / "7.1"));
}

TEST_P(RealIoTest, NoTaskIsStartedTwice) {
  start(1, "exit 0");
  const Status again = io_->start(script(1, "echo again"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "task 7.1 was started before");
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "");
}

TEST_P(RealIoTest, AProgramThatCannotBeRunIsToldWithTheReason) {
  TaskSpec spec = script(1, "");
  spec.command = {"no-such-program"};
  const Status failed = io_->start(spec);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "cannot run no-such-program: No such file or directory");
  spec.folder = "/no/such/folder";
  const Status elsewhere = io_->start(spec);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().message, "cannot enter /no/such/folder: No such file or directory");
  EXPECT_TRUE(io_->tasks().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tasks" / "7.1"));
}

TEST_P(RealIoTest, WhereOneOfSeveralCannotBeRunNothingIsLeft) {
  TaskSpec spec = script(1, "");
  spec.command = {"no-such-program"};
  spec.processes = 8;
  EXPECT_FALSE(io_->start(spec));
  EXPECT_TRUE(io_->tasks().empty());
}

TEST_P(RealIoTest, ATaskHasTheEnvironmentTheFolderAndTheUmaskAskedFor) {
  TaskSpec spec =
      script(1, "pwd; umask; env | grep -v -e ^_= -e ^PWD= | sort; cat; ls /proc/self/fd");
  spec.environment = {"PATH=/usr/bin:/bin", "B=two words", "A="};
  spec.folder = "/usr";
  spec.umask = 027;
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "/usr\n0027\nA=\nB=two words\nPATH=/usr/bin:/bin\n0\n1\n2\n3\n");
}

TEST_P(RealIoTest, SignalsOfATaskAreAsInANewSession) {
  ::signal(SIGPIPE, SIG_IGN);
  start(1, "sed -n 's/^Sig\\(Blk\\|Ign\\):\\t/0x/p' /proc/self/status");
  EXPECT_EQ(end_of(id(1)), code(0));
  std::istringstream lines(log());
  std::uint64_t blocked = 1;
  std::uint64_t ignored = 1;
  lines >> std::hex >> blocked >> ignored;
  EXPECT_EQ(blocked, 0U);
  // Those that glibc keeps to itself, and that posix_spawn ignores.
  EXPECT_EQ(ignored & ~std::uint64_t{0x180000000}, 0U);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_P(RealIoTest, OutputOfAJobIsAppendedAndItsOwnersAlone) {
  start(1, "echo one; echo two >&2");
  end_of(id(1));
  start(2, "echo three");
  end_of(id(2));
  EXPECT_EQ(log(), "one\ntwo\nthree\n");
  struct stat now {};
  ASSERT_EQ(::stat(io_->log_path(JobId(7)).c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);
}

TEST_P(RealIoTest, ProgressIsTheLastLineThatWasWritten) {
  TaskSpec spec =
      script(1, "echo one > $PROGRESS; echo two >> $PROGRESS; printf unfinished >> $PROGRESS");
  spec.environment.push_back("PROGRESS=" + io_->progress_path(id(1)));
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(io_->progress(id(1)), "two");
}

TEST_P(RealIoTest, ProgressIsReadFromAPlainFileOnly) {
  start(1, "exit 0");
  end_of(id(1));
  const std::string path = io_->progress_path(id(1));
  EXPECT_EQ(io_->progress(id(1)), "");
  std::filesystem::remove(path);
  EXPECT_EQ(io_->progress(id(1)), "");
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_EQ(io_->progress(id(1)), "");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(io_->progress(id(1)), "");  // and does not wait for a writer
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(100'000, 'x') << "\nshort\n" << std::string(100'000, 'x');
  EXPECT_EQ(io_->progress(id(1)), "");  // the line began before what is read
}

TEST_P(RealIoTest, ALogThatIsALinkIsNotFollowed) {
  std::filesystem::create_symlink(top_ / "elsewhere", io_->log_path(JobId(7)));
  EXPECT_FALSE(io_->start(script(1, "echo text")));
  EXPECT_FALSE(std::filesystem::exists(top_ / "elsewhere"));
}

TEST_P(RealIoTest, ATaskRunsAsItsUserAndReadsNoFileOfTheDaemon) {
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
  EXPECT_EQ(io_->progress(id(1)), "half");  // its user can write it, and not replace it
  struct stat now {};
  ASSERT_EQ(::stat(io_->log_path(JobId(7)).c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, kOtherUser);
}

TEST_P(RealIoTest, ATaskOfAnotherUserIsFrozenAndEnded) {
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

TEST_P(RealIoTest, ClientsAreToldApart) {
  const Client first(folder_ / "socket");
  const Client second(folder_ / "socket");
  const IoEvent one = next();
  ASSERT_EQ(one.kind, Kind::kConnected);
  EXPECT_EQ(one.peer.uid, ::geteuid());
  EXPECT_EQ(one.peer.gid, ::getegid());
  EXPECT_TRUE(one.peer.is_admin);
  const IoEvent two = next();
  ASSERT_EQ(two.kind, Kind::kConnected);
  EXPECT_NE(one.connection, two.connection);
  second.send("hello");
  const IoEvent received = next();
  ASSERT_EQ(received.kind, Kind::kReceived);
  EXPECT_EQ(received.connection, two.connection);
  EXPECT_EQ(received.bytes, "hello");
  io_->send(two.connection, "to the second");
  io_->send(one.connection, "to the first");
  EXPECT_EQ(first.receive(12), "to the first");
  EXPECT_EQ(second.receive(13), "to the second");
  ::shutdown(first.socket(), SHUT_WR);
  const IoEvent closed = next();
  ASSERT_EQ(closed.kind, Kind::kClosed);
  EXPECT_EQ(closed.connection, one.connection);
  io_->send(one.connection, "into the void");
}

TEST_P(RealIoTest, AConnectionEndsOnceAllWasSent) {
  const Client client(folder_ / "socket");
  const ConnectionId connection = next().connection;
  const std::string much(4'000'000, 'm');  // more than the system takes at once
  io_->send(connection, much);
  io_->close(connection);
  std::string received;
  for (;;) {
    char bytes[65536];
    const ssize_t count = ::recv(client.socket(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0) break;
    if (count > 0) received.append(bytes, static_cast<std::size_t>(count));
    if (count < 0) {
      EXPECT_EQ(io_->wait(io_->now()).kind, Kind::kTime);
    }
  }
  EXPECT_EQ(received, much);
}

TEST_P(RealIoTest, AClientThatReadsNothingIsCutOff) {
  const Client client(folder_ / "socket");
  const ConnectionId connection = next().connection;
  const std::string much(1'000'000, 'm');
  for (int i = 0; i < 20; ++i) io_->send(connection, much);
  EXPECT_EQ(next().kind, Kind::kClosed);
}

TEST_P(RealIoTest, EventsComeThoughItIsTimeAndTimeComesThoughThereAreEvents) {
  const Client client(folder_ / "socket");
  client.send("bytes");
  EXPECT_EQ(io_->wait({0}).kind, Kind::kConnected);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kReceived);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
}

TEST_P(RealIoTest, WaitReturnsAtItsTime) {
  const Time until = io_->now() + milliseconds(20);
  EXPECT_EQ(io_->wait(until).kind, Kind::kTime);
  EXPECT_GE(io_->now(), until);
}

TEST_P(RealIoTest, SigtermAsksTheDaemonToLeave) {
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(next().kind, Kind::kTerminate);
}

TEST_P(RealIoTest, TimeGoesOnInTheNextDaemonAndNeverBack) {
  // The calendar was set back by a lot: the last time that was told is ahead of it.
  const Time before = io_->now();
  const std::int64_t began = io_->unix_ms({0});
  io_.reset();
  const Time told = before + hours(1);
  std::ofstream(folder_ / "time") << told.ms << '\n';
  open();
  EXPECT_GE(io_->now(), told);
  EXPECT_NEAR(static_cast<double>(io_->unix_ms(io_->now())), static_cast<double>(began + before.ms),
              kLongMs);
  io_.reset();
  std::filesystem::remove(folder_ / "time");
  std::ofstream(folder_ / "began") << began - hours(2).ms << '\n';
  open();
  EXPECT_GE(io_->now(), before + hours(2));
}

TEST_P(RealIoTest, ASecondDaemonIsRefused) {
  const Result<std::unique_ptr<RealIo>> second = RealIo::open(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, fmt::format("{} is in use by another daemon, process {}",
                                                folder_.string(), ::getpid()));
}

TEST_P(RealIoTest, ASocketOfAnotherDaemonIsLeftAlone) {
  RealIoOptions other = options();
  other.folder = top_ / "other";
  other.socket = folder_ / "socket";
  EXPECT_FALSE(RealIo::open(other));
  const Client client(folder_ / "socket");
  EXPECT_EQ(next().kind, Kind::kConnected);
}

TEST_P(RealIoTest, FilesAppearWholeAndAreTheDaemonsAlone) {
  ASSERT_TRUE(io_->write("jobs/12", "one"));
  ASSERT_TRUE(io_->write("jobs/12", "two"));
  ASSERT_TRUE(io_->write("jobs/2", std::string("a\0b", 3)));
  EXPECT_EQ(io_->read("jobs/12").value(), "two");
  EXPECT_EQ(io_->read("jobs/2").value(), std::string("a\0b", 3));
  EXPECT_EQ(io_->list("jobs"), (std::vector<std::string>{"12", "2"}));
  EXPECT_TRUE(io_->list("none").empty());
  EXPECT_FALSE(io_->read("jobs/3"));
  io_->remove("jobs/2");
  EXPECT_EQ(io_->list("jobs"), std::vector<std::string>{"12"});
  struct stat now {};
  ASSERT_EQ(::stat((folder_ / "jobs" / "12").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat((folder_ / "jobs").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(folder_.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0711U);
}

TEST_P(RealIoTest, AFileThatCannotBeWrittenStaysAsItWas) {
  ASSERT_TRUE(io_->write("jobs/12", "one"));
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_FALSE(io_->write("jobs/12", "two"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(io_->read("jobs/12").value(), "one");
  EXPECT_EQ(io_->list("jobs"), std::vector<std::string>{"12"});
}

TEST_P(RealIoTest, AStreamHasWhatWasAppendedAsItIs) {
  Result<ByteSource> none = io_->stream("journal");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->peek(1).value(), "");
  const std::string bytes = "\x1f\x8b not compressed";
  const auto append = [&](std::uint64_t at, std::string_view text) {
    auto file = io_->append_to("journal", at);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->append({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    ASSERT_TRUE((*file)->close());
  };
  append(0, bytes + "torn");
  append(bytes.size(), ", and more");
  Result<ByteSource> journal = io_->stream("journal");
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->peek(1000).value(), bytes + ", and more");
}

TEST_P(RealIoTest, AccountsHaveNamesAndPortsAreFree) {
  EXPECT_EQ(io_->user_name(0), "root");
  EXPECT_EQ(io_->user_name(3'999'999'999), "3999999999");
  EXPECT_GT(io_->free_port(), 0);
}

}  // namespace
}  // namespace fairlead
