// A RealIo in a folder of its own, for tests: with tasks as cgroups, and by signals.
#pragma once

#include "fairlead/io/real_io.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace fairlead {

constexpr int kLongMs = 60'000;  // a test that waits so long has failed

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A named pipe through which processes report their progress to a test.
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
      if (task.state != TaskStatus::State::kEnded) {
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

  static TaskId id(std::uint32_t run) { return {JobId(7), run}; }
  TaskSpec script(std::uint32_t run, std::string text) const {
    return {.id = id(run),
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
  void start(std::uint32_t run, std::string text) { start(script(run, std::move(text))); }

  IoEvent next() { return io_->wait(io_->now() + milliseconds(kLongMs)); }
  TaskEnd end_of(TaskId task) {
    const IoEvent event = next();
    EXPECT_EQ(event.kind, IoEvent::Kind::kTaskEnded);
    EXPECT_EQ(event.task, task);
    was_asked_ = event.end.was_asked;
    return {event.end.is_known, event.end.code, event.end.signal};
  }
  static TaskEnd code(int code) { return {.code = code}; }
  static TaskEnd signal(int signal) { return {.signal = signal}; }

  // Returns the task's log so far.
  std::string log() { return text_of_file(io_->log_path(JobId(7))); }
  TaskStatus::State state(TaskId task) {
    for (const TaskStatus& status : io_->tasks()) {
      if (status.id == task) return status.state;
    }
    ADD_FAILURE() << "there is no such task";
    return TaskStatus::State::kEnded;
  }
  // Returns whether the process that writes to the pipe continues.
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
  bool was_asked_ = false;  // before the last end_of()
  mutable std::unique_ptr<Fifo> fifo_;
};

}  // namespace fairlead
