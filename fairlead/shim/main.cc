// fairlead-shim: the parent of a task's processes. It starts them, waits for them across restarts of the daemon, and
// records their end in the task's folder.
//
// As the subreaper, the shim keeps all descendants below it, however they detach. It reacts only to the daemon's
// signals: SIGUSR1 asks the task to end, SIGUSR2 kills it.
//
// SIGTERM goes to the processes that the shim started, not to all descendants: a launcher notifies its own workers. If
// a data loader ended before its training loop, the loop would fail instead of writing its checkpoint. Once the started
// processes have ended, SIGTERM goes to their orphans, for example the child of a shell.
#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"
#include "fairlead/shim/spec.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead::shim {
namespace {

// A folder or program on a file system that does not answer must not delay the daemon.
constexpr int kBeginLimitMs = 5000;
constexpr int kStopLimitMs = 500;
constexpr int kNotBegun = 127;  // the exit codes that shells use
constexpr int kNotExecutable = 126;

// The reason why a process did not start, in the form that it sends to the shim.
struct Refusal {
  enum class Step : int { kCgroup, kUser, kTerminal, kFolder, kProgram } step{};
  int error = 0;
};

// The user can change only the folder and the program.
std::string code_of(const Refusal& refusal) {
  if (refusal.step != Refusal::Step::kFolder && refusal.step != Refusal::Step::kProgram) return {};
  const bool is_missing = refusal.step == Refusal::Step::kProgram && refusal.error == ENOENT;
  return std::string(kCannotRun) + std::to_string(is_missing ? kNotBegun : kNotExecutable) + ": ";
}

std::string text_of(const Spec& spec, const Refusal& refusal) {
  std::string text = code_of(refusal);
  switch (refusal.step) {
    case Refusal::Step::kCgroup:
      text += "cannot join its cgroups";
      break;
    case Refusal::Step::kUser:
      text += "cannot become user " + std::to_string(spec.uid);
      break;
    case Refusal::Step::kTerminal:
      text += "cannot take its terminal";
      break;
    case Refusal::Step::kFolder:
      text += "cannot enter " + spec.directory;
      break;
    case Refusal::Step::kProgram:
      text += "cannot run " + spec.command.front();
      break;
  }
  return text + ": " + std::strerror(refusal.error);
}

bool write_to(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_written = write_all(descriptor, text);
  const int error = errno;
  close(descriptor);
  errno = error;
  return is_written;
}

bool become_user(const Spec& spec) {
  if (!spec.becomes_user) return true;
  const std::vector<gid_t> groups(spec.groups.begin(), spec.groups.end());
  return setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(spec.gid, spec.gid, spec.gid) == 0 &&
         setresuid(spec.uid, spec.uid, spec.uid) == 0;
}

// Makes the terminal the controlling terminal, input and output of this session. Runs as the user, who may not take a
// terminal from another session.
bool take_terminal() {
  if (ioctl(kTerminalDescriptor, TIOCSCTTY, 0) != 0) return false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (dup2(kTerminalDescriptor, stream) < 0) return false;
  return true;
}

void limit_open_files(std::uint64_t count) {
  rlimit limit{};
  if (count == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Sets the limits as far as this process may: only root may raise a hard limit or lower the nice value.
void set_limits(const Spec& spec) {
  if (spec.limits.empty()) return limit_open_files(spec.open_files);
  for (std::size_t i = 0; i + 1 < spec.limits.size(); i += 2) {
    const auto resource = static_cast<int>(i / 2);
    const rlimit asked{.rlim_cur = spec.limits[i], .rlim_max = spec.limits[i + 1]};
    rlimit limit{};
    if (setrlimit(resource, &asked) == 0 || getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = std::min(asked.rlim_cur, limit.rlim_max);
    setrlimit(resource, &limit);
  }
  setpriority(PRIO_PROCESS, 0, static_cast<int>(spec.niceness) + kNiceMin);
}

// Returns the environment of a copy. A single copy has no rank, because launchers take an existing rank as the sign
// that another launcher started them.
std::vector<std::string> environment_of(const Spec& spec, std::uint32_t rank) {
  std::vector<std::string> environment = spec.environment;
  if (spec.processes == 1) return environment;
  const auto set = [&](const std::string& name, std::uint32_t value) {
    const auto is_same = [&](const std::string& text) { return text.rfind(name, 0) == 0; };
    environment.erase(std::remove_if(environment.begin(), environment.end(), is_same),
                      environment.end());
    environment.push_back(name + std::to_string(value));
  };
  set("RANK=", rank);
  set("LOCAL_RANK=", rank);
  set("WORLD_SIZE=", spec.processes);
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

class Shim {
 public:
  explicit Shim(const Spec& spec) : spec_(spec) {}

  // Returns the shim's exit code.
  int run() {
    const std::optional<Process> self = find_process(getpid());
    if (!self) return reply("cannot read /proc");
    if (!write_mark(spec_.folder,
                    {boot_id(), self->pid, self->started, spec_.cgroup, spec_.limit_groups}))
      return reply(std::string("cannot take the task: ") + std::strerror(errno));
    const bool has_room = reserve_end(spec_.folder);
    const std::string refused =
        has_room ? begin() : std::string("no room: ") + std::strerror(errno);
    if (spec_.has_terminal || spec_.has_input) close(kTerminalDescriptor);
    reply(refused.empty() ? std::string(kBegan) : refused);
    close(kReplyDescriptor);
    if (!refused.empty()) {
      end_ = {.code = kNotBegun};
      has_failed_ = is_killed_ = true;
    }
    supervise();
    return write_end(spec_.folder, end_) ? 0 : 1;
  }

 private:
  static int reply(const std::string& text) {
    write_all(kReplyDescriptor, text);
    return 1;
  }

  // Starts the processes; returns why that failed, or nothing.
  std::string begin() {
    int refusals[2];
    if (pipe2(refusals, O_CLOEXEC) != 0) return std::strerror(errno);
    std::string failure;
    const pid_t shim = getpid();
    for (std::uint32_t rank = 0; rank < spec_.processes && failure.empty(); ++rank) {
      const pid_t pid = fork();
      if (pid == 0) become(rank, shim, refusals[1]);
      if (pid < 0) failure = std::string("cannot fork: ") + std::strerror(errno);
      if (pid > 0) mains_.push_back(pid);
    }
    close(refusals[1]);
    if (failure.empty()) failure = refusal_from(refusals[0]);
    close(refusals[0]);
    return failure;
  }

  // A process that runs its program has closed its end.
  std::string refusal_from(int descriptor) const {
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, kBeginLimitMs) <= 0)
      return "cannot run " + spec_.command.front() + ": it did not start within " +
             std::to_string(kBeginLimitMs / 1000) + " s";
    Refusal refusal;
    const ssize_t count = read(descriptor, &refusal, sizeof refusal);
    return count == sizeof refusal ? text_of(spec_, refusal) : std::string();
  }

  // Turns this child into the process that was asked for.
  [[noreturn]] void become(std::uint32_t rank, pid_t shim, int refusals) {
    const auto refuse = [&](Refusal::Step step) {
      const Refusal refusal{step, errno};
      write_all(refusals, {reinterpret_cast<const char*>(&refusal), sizeof refusal});
      _exit(kNotBegun);
    };
    setsid();  // signals to its process group do not reach the shim
    if (!join_groups()) refuse(Refusal::Step::kCgroup);
    set_limits(spec_);
    if (!become_user(spec_)) refuse(Refusal::Step::kUser);
    if (spec_.has_terminal && !take_terminal()) refuse(Refusal::Step::kTerminal);
    if (spec_.has_input && rank == 0 && dup2(kTerminalDescriptor, STDIN_FILENO) < 0)
      refuse(Refusal::Step::kTerminal);
    // If the shim dies, the daemon can no longer learn how this process ended.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shim) _exit(kNotBegun);
    umask(static_cast<mode_t>(spec_.umask));
    if (chdir(spec_.directory.c_str()) != 0) refuse(Refusal::Step::kFolder);
    std::vector<std::string> environment = environment_of(spec_, rank);
    std::vector<std::string> command = spec_.command;
    std::vector<char*> variables = pointers(environment);
    environ = variables.data();  // its PATH finds the program
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(command.front().c_str(), pointers(command).data());
    refuse(Refusal::Step::kProgram);
    _exit(kNotBegun);
  }

  // Moves this process into the task's groups. False: errno.
  bool join_groups() const {
    const auto join = [](const std::string& group) {
      return write_to(group + "/cgroup.procs", "0");
    };
    return (spec_.cgroup.empty() || join(spec_.cgroup)) &&
           std::all_of(spec_.limit_groups.begin(), spec_.limit_groups.end(), join);
  }

  // Returns once no process of the task is left.
  void supervise() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGCHLD, SIGUSR1, SIGUSR2}) sigaddset(&watched, signal);
    int patience_ms = 20;
    while (reap()) {
      if (is_over()) {
        kill_rest();
        // A process that was missed is found in the next round, even if no further signal arrives.
        patience_ms = std::min(2 * patience_ms, 5000);
        const timespec pause{patience_ms / 1000, (patience_ms % 1000) * 1'000'000L};
        sigtimedwait(&watched, nullptr, &pause);
        continue;
      }
      const int signal = sigwaitinfo(&watched, nullptr);
      if (signal == SIGUSR1) ask_to_leave();
      if (signal == SIGUSR2) is_killed_ = true;
    }
  }

  // Takes notice of processes that have ended; false once there is none left.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return pid == 0;
      const auto main = std::find(mains_.begin(), mains_.end(), pid);
      if (main == mains_.end()) continue;
      mains_.erase(main);
      note_end(status);
      if (mains_.empty() && is_leaving_) signal_descendants(getpid(), SIGTERM);
    }
  }

  void note_end(int status) {
    if (status == 0 || has_failed_) return;
    has_failed_ = true;
    if (WIFSIGNALED(status)) {
      end_.signal = WTERMSIG(status);
    } else {
      end_.code = WEXITSTATUS(status);
    }
  }

  // True if the remaining processes need not be waited for. A task that was asked to leave may run until it is killed:
  // other processes may still write the checkpoint when the first has ended by the signal.
  bool is_over() const { return is_killed_ || (!is_leaving_ && (has_failed_ || mains_.empty())); }

  // First reaps processes that ended before the request: they must count as ends of their own.
  void ask_to_leave() {
    reap();
    if (is_over()) return;
    is_leaving_ = end_.was_asked = true;
    for (const pid_t pid : mains_) kill(pid, SIGTERM);
  }

  void kill_rest() const {
    if (spec_.cgroup.empty() || !write_to(spec_.cgroup + "/cgroup.kill", "1"))
      stop_descendants(getpid(), kStopLimitMs);  // so that no process can start another
    signal_descendants(getpid(), SIGKILL);
  }

  const Spec& spec_;
  std::vector<pid_t> mains_;  // that have not ended
  End end_;
  bool has_failed_ = false;  // one of mains_ ended badly
  bool is_leaving_ = false;
  bool is_killed_ = false;
};

// Away from the daemon: its session, its signals, its files.
void detach(bool has_descriptor) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fcntl(kReplyDescriptor, F_SETFD, FD_CLOEXEC);
  if (has_descriptor) fcntl(kTerminalDescriptor, F_SETFD, FD_CLOEXEC);
  // Not close_range(), which needs Linux 5.9.
  closefrom(has_descriptor ? kTerminalDescriptor + 1 : kTerminalDescriptor);
  umask(077);
  if (chdir("/") != 0) std::exit(1);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  if (nothing > STDERR_FILENO) close(nothing);
}

}  // namespace

int run() {
  const std::optional<std::string> bytes = read_all(STDIN_FILENO);
  const std::optional<Spec> spec = bytes ? decode(*bytes) : std::nullopt;
  if (!spec) return 2;
  detach(spec->has_terminal || spec->has_input);
  return Shim(*spec).run();
}

}  // namespace fairlead::shim

int main() { return fairlead::shim::run(); }
