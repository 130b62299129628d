#include "fairlead/compare/child_runs.h"

#include "fairlead/base/check.h"
#include "fairlead/compare/child_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr int kCannotStart = 127;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

// Blocks the signals that this program waits for instead of being ended by them, from construction to destruction.
class BlockedSignals {
 public:
  BlockedSignals() {
    // An ignored SIGCHLD is inherited from the parent, and would hide the ends of children.
    std::signal(SIGCHLD, SIG_DFL);
    sigemptyset(&blocked_);
    sigaddset(&blocked_, SIGCHLD);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&blocked_, number);
    }
    sigprocmask(SIG_BLOCK, &blocked_, &before_);
  }
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Returns the next signal, or 0 after half a second without one.
  int next() const {
    constexpr timespec kTick = {0, 500'000'000};
    return std::max(0, sigtimedwait(&blocked_, nullptr, &kTick));
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

// Runs in the child before it becomes another program. Never returns.
[[noreturn]] void become(char* const* argv, int errors, int progress, const sigset_t& signals,
                         pid_t parent) {
  // A killed parent cannot end its children.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent was killed before that
  if (progress >= 0 && fcntl(progress, F_SETFD, 0) == 0)
    setenv(kProgressVariable, fmt::format("{}", progress).c_str(), 1);
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) {
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    execv(kThisProgram, argv);
  }
  dprintf(errors, "fairlead: cannot start a process: %s\n", std::strerror(errno));
  _exit(kCannotStart);
}

// Returns the child's id, or -1 with errno.
pid_t spawn(const ChildRun& run, std::FILE* errors, int progress, const sigset_t& signals) {
  std::vector<char*> argv = {const_cast<char*>("fairlead")};
  for (const std::string& argument : run.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv.data(), fileno(errors), progress, signals, parent);
  return pid;
}

std::string contents(std::FILE* file) {
  std::string text;
  char chunk[4096];
  std::rewind(file);
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) {
    text.append(chunk, n);
  }
  return text;
}

// A file in memory that a child writes its progress to. Without one, the child reports none.
class ProgressFile {
 public:
  ProgressFile() : descriptor_(memfd_create("progress", MFD_CLOEXEC)) {}
  ProgressFile(ProgressFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ProgressFile& operator=(ProgressFile&&) = delete;
  ~ProgressFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  // 0: nothing was written yet.
  double part() const {
    double part = 0;
    const bool is_read = pread(descriptor_, &part, sizeof part, 0) == sizeof part;
    return is_read ? std::clamp(part, 0.0, 1.0) : 0;
  }

 private:
  int descriptor_;
};

// The currently running children, and their observer.
class Children {
 public:
  Children(std::vector<ChildRun>& children, ChildObserver* observer)
      : children_(children), order_(kinds_of(children)), observer_(observer) {}

  std::size_t size() const { return started_.size(); }

  // Starts the next child; false if all were started.
  Result<bool> start_next() {
    const std::optional<std::size_t> row = order_.next();
    if (!row) return false;
    return start(children_[*row]).map([] { return true; });
  }

  // Returns when fewer run than before. REQUIRES: a child runs.
  void wait_for_one() {
    const std::size_t before = started_.size();
    for (;;) {
      while (started_.size() > 0 && reap(WNOHANG)) {
      }
      if (started_.size() < before) return;
      const int number = signals_.next();
      if (number != 0 && number != SIGCHLD) end_by(number);
      if (observer_ == nullptr) continue;
      for (auto& [pid, child] : started_) child.run->part_done = child.progress.part();
      observer_->waiting();
    }
  }

 private:
  static std::vector<std::size_t> kinds_of(const std::vector<ChildRun>& children) {
    std::vector<std::size_t> kinds;
    for (const ChildRun& child : children) kinds.push_back(child.kind);
    return kinds;
  }
  static double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }

  Status start(ChildRun& run) {
    TemporaryFile errors(std::tmpfile());
    if (!errors) return run_error("cannot create a temporary file: {}", std::strerror(errno));
    ProgressFile progress;
    const pid_t pid = spawn(run, errors.get(), progress.descriptor(), signals_.before());
    if (pid < 0) return run_error("cannot start a process: {}", std::strerror(errno));
    started_.emplace(pid, Started{&run, std::move(errors), std::move(progress)});
    if (observer_ != nullptr) observer_->started(run);
    return {};
  }

  struct Started {
    ChildRun* run;
    TemporaryFile errors;
    ProgressFile progress;
  };

  // Takes note of a child that ended; false if there is none.
  bool reap(int flags) {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, flags, &usage);
    FL_CHECK(pid >= 0 || errno == EINTR, "no child to wait for: {}", std::strerror(errno));
    if (pid <= 0) return false;
    const auto child = started_.find(pid);
    if (child == started_.end()) return true;
    ChildRun& run = *child->second.run;
    // The time of processors, because a busy machine lengthens no other.
    order_.ended(static_cast<std::size_t>(&run - children_.data()),
                 seconds(usage.ru_utime) + seconds(usage.ru_stime));
    run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.errors = contents(child->second.errors.get());
    started_.erase(child);
    if (observer_ != nullptr) observer_->ended(run);
    return true;
  }

  // Ends by the signal itself, so that a shell's loop around this program ends too.
  [[noreturn]] void end_by(int number) {
    for (const auto& [pid, child] : started_) kill(pid, SIGTERM);
    while (!started_.empty()) reap(0);
    if (observer_ != nullptr) observer_->interrupted();
    std::signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
    std::raise(number);
    std::_Exit(128 + number);
  }

  BlockedSignals signals_;
  std::vector<ChildRun>& children_;
  ChildOrder order_;
  ChildObserver* observer_;
  std::map<pid_t, Started> started_;
};

}  // namespace

Status run_children(std::vector<ChildRun>& children, ChildObserver* observer) {
  const std::size_t parallel = std::max(1u, std::thread::hardware_concurrency());
  Children running(children, observer);
  Result<bool> started = true;
  while (started && *started) {
    if (running.size() == parallel) running.wait_for_one();
    started = running.start_next();
  }
  while (running.size() > 0) running.wait_for_one();
  return started.map([](bool) {});
}

bool has_results(const ChildRun& child) {
  return child.exit_code == 0 || child.exit_code == kJobsLeft;
}

std::string message_of(const ChildRun& child) {
  std::string_view message = child.errors;
  constexpr std::string_view kPrefix = "fairlead: ";
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  while (message.ends_with('\n')) message.remove_suffix(1);
  return message.empty() ? fmt::format("exit code {}", child.exit_code) : std::string(message);
}

}  // namespace fairlead
