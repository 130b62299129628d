#include "fairlead/io/real_io.h"

#include "fairlead/base/check.h"
#include "fairlead/io/accounts.h"
#include "fairlead/io/cgroups.h"
#include "fairlead/io/clock.h"
#include "fairlead/io/connections.h"
#include "fairlead/io/epoll.h"
#include "fairlead/io/folder.h"
#include "fairlead/io/gpus.h"
#include "fairlead/io/notices.h"
#include "fairlead/io/tasks.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr rlim_t kOpenFilesMax = 65'536;
constexpr std::size_t kConnectionsMax = 4096;

// The process-wide settings that a daemon changes and restores.
class Process {
 public:
  Process() {
    umask_ = ::umask(077);
    sigemptyset(&blocked_);
    for (const int signal : {SIGTERM, SIGINT}) sigaddset(&blocked_, signal);
    sigprocmask(SIG_BLOCK, &blocked_, &signals_);
    ::getrlimit(RLIMIT_NOFILE, &open_files_);
    rlimit more = open_files_;
    more.rlim_cur = std::max(more.rlim_cur, std::min(more.rlim_max, kOpenFilesMax));
    ::setrlimit(RLIMIT_NOFILE, &more);
    // A closed standard stream would become one of our files, and then a task's.
    for (;;) {
      const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      if (nothing < 0) break;
      if (nothing <= STDERR_FILENO) continue;
      ::close(nothing);
      break;
    }
  }
  ~Process() {
    ::setrlimit(RLIMIT_NOFILE, &open_files_);
    sigprocmask(SIG_SETMASK, &signals_, nullptr);
    ::umask(umask_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const sigset_t& blocked_signals() const { return blocked_; }
  std::uint64_t open_files_before() const { return open_files_.rlim_cur; }
  static std::size_t connections_max() {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    return std::min<std::size_t>(kConnectionsMax, now.rlim_cur / 2);
  }

 private:
  mode_t umask_;
  sigset_t blocked_{};
  sigset_t signals_{};
  rlimit open_files_{};
};

Result<std::filesystem::path> find_shim(const std::filesystem::path& given) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path shim = given.empty() ? self.parent_path() / "fairlead-shim" : given;
  if (::access(shim.c_str(), X_OK) == 0) return std::filesystem::absolute(shim);
  return run_error("the program that starts jobs cannot be run: {}: {}", shim.string(),
                   std::strerror(errno));
}

// The name differs for every folder, even if a new folder has the path of an old one.
std::string cgroups_name(const std::filesystem::path& folder, const Clock& clock) {
  struct stat now {};
  ::stat(folder.c_str(), &now);
  return fmt::format("{}.{}", clock.began(), now.st_ino);
}

class Machine : public RealIo {
 public:
  static Result<std::unique_ptr<RealIo>> open(RealIoOptions options);

  ~Machine() override {
    if (uses_cgroups()) remove_cgroup(cgroups_);  // unless there are tasks
    limits_.remove();
  }

  bool uses_cgroups() const override { return !cgroups_.empty(); }
  std::vector<std::string> missing_limits() const override;

  Time now() override { return clock_.now(); }
  std::int64_t unix_ms(Time t) override { return clock_.unix_ms(t); }
  IoEvent wait(Time until) override;

  Status write(const std::string& name, std::string_view bytes) override {
    return folder_.write(name, bytes);
  }
  Result<std::string> read(const std::string& name) override { return folder_.read(name); }
  void remove(const std::string& name) override { folder_.remove(name); }
  std::vector<std::string> list(const std::string& folder) override { return folder_.list(folder); }
  Result<ByteSource> stream(const std::string& name) override { return folder_.stream(name); }
  Result<std::unique_ptr<AppendFile>> append_to(const std::string& name,
                                                std::uint64_t bytes) override {
    return folder_.append_to(name, bytes);
  }

  void send(ConnectionId connection, std::string_view bytes) override {
    connections_.send(connection, bytes);
  }
  void close(ConnectionId connection) override { connections_.close(connection); }

  Status start(const TaskSpec& spec) override {
    const int terminal = connections_.passed(spec.terminal != 0 ? spec.terminal : spec.input);
    if (spec.terminal != 0 && terminal < 0) return run_error("its terminal is gone");
    if (spec.input != 0 && terminal < 0)
      return input_error("exit code 126: its standard input has gone with its client");
    std::vector<DeviceNumber> denied;
    if (gpus_) denied = gpus_->devices(spec.other_gpus);
    return tasks_.start(spec, terminal, std::move(denied));
  }
  Status freeze(TaskId task) override { return tasks_.freeze(task); }
  Status thaw(TaskId task) override { return tasks_.thaw(task); }
  void interrupt(TaskId task) override { tasks_.interrupt(task); }
  void kill(TaskId task) override { tasks_.kill(task); }
  std::vector<TaskStatus> tasks() override { return tasks_.all(); }
  void forget(TaskId task) override { tasks_.forget(task); }
  TaskReports reports(TaskId task, std::uint64_t output_from) override {
    return tasks_.reports(task, output_from);
  }
  std::string log_path(JobId job) override { return tasks_.log_path(job); }
  std::string progress_path(TaskId task) override { return tasks_.progress_path(task); }

  std::optional<GpuLook> look_at_gpus(std::span<const std::string> names) override {
    if (!gpus_) return std::nullopt;
    return gpus_->look(names, [&](pid_t pid) { return tasks_.task_of(pid); });
  }

  void end_process(std::uint64_t pid, bool by_force) override {
    if (pid > 1) ::kill(static_cast<pid_t>(pid), by_force ? SIGKILL : SIGTERM);
  }

  void notify(Notification notification) override { notices_.add(std::move(notification)); }
  std::string user_name(std::uint32_t uid) override { return account_name(uid); }
  std::vector<std::string> group_names(std::uint32_t uid, std::uint32_t gid) override {
    return names_of_groups(groups_of(uid, gid));
  }
  std::uint16_t free_port() override;

  Machine(std::unique_ptr<Process> process, std::unique_ptr<Epoll> epoll, Folder folder,
          Clock clock, Connections connections, TaskProcesses tasks, std::string admin_group)
      : process_(std::move(process)),
        epoll_(std::move(epoll)),
        folder_(std::move(folder)),
        clock_(std::move(clock)),
        connections_(std::move(connections)),
        tasks_(std::move(tasks)),
        notices_(*epoll_),
        admin_group_(std::move(admin_group)) {}

 private:
  Status watch_signals_and_time();
  void set_timer(Time until);
  std::optional<IoEvent> handle(const Epoll::Ready& ready);

  std::unique_ptr<Process> process_;
  std::unique_ptr<Epoll> epoll_;  // which the others keep the address of
  Folder folder_;
  Clock clock_;
  Connections connections_;
  TaskProcesses tasks_;
  Notices notices_;
  std::optional<Gpus> gpus_;
  std::string admin_group_;
  std::string cgroups_;  // the folder of the tasks' cgroups; empty: none
  LimitGroups limits_;
  Descriptor signals_;
  std::uint64_t signals_number_ = 0;
  Descriptor timer_;
  Time timer_at_ = Time::never();
  bool has_looked_ = false;  // for other events since the time came
};

Result<std::unique_ptr<RealIo>> Machine::open(RealIoOptions options) {
  auto process = std::make_unique<Process>();
  FL_TRY_ASSIGN(shim, find_shim(options.shim));
  FL_TRY_ASSIGN(folder, Folder::open(options.folder));
  FL_TRY_ASSIGN(clock, Clock::open(folder.path()));
  FL_TRY_ASSIGN(made_epoll, Epoll::create());
  auto epoll = std::make_unique<Epoll>(std::move(made_epoll));
  const std::filesystem::path socket =
      options.socket.empty() ? folder.path() / "socket" : options.socket;
  FL_TRY_ASSIGN(connections, Connections::open(socket, *epoll, Process::connections_max()));
  if (options.port != 0) FL_TRY(connections.open_port(options.port));
  TaskOptions given{.folder = folder.path() / "tasks",
                    .logs = folder.path() / "logs",
                    .shim = std::move(shim),
                    .log_bytes = options.log_bytes,
                    .open_files = process->open_files_before()};
  const std::string name = cgroups_name(folder.path(), clock);
  if (options.use_cgroups) given.cgroups = find_cgroups(name);
  given.limits = LimitGroups::find(name, given.cgroups);
  const std::string cgroups = given.cgroups;
  const LimitGroups limits = given.limits;
  FL_TRY_ASSIGN(tasks, TaskProcesses::open(std::move(given), *epoll));
  auto machine = std::make_unique<Machine>(std::move(process), std::move(epoll), std::move(folder),
                                           std::move(clock), std::move(connections),
                                           std::move(tasks), std::move(options.admin_group));
  machine->cgroups_ = cgroups;
  machine->limits_ = limits;
  if (options.has_gpus) machine->gpus_ = Gpus::open(options.gpu_libraries);
  FL_TRY(machine->watch_signals_and_time());
  return machine;
}

Status Machine::watch_signals_and_time() {
  signals_ = Descriptor(::signalfd(-1, &process_->blocked_signals(), SFD_NONBLOCK | SFD_CLOEXEC));
  // The time of the machine's sleep counts too.
  timer_ = Descriptor(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!signals_.is_open() || !timer_.is_open())
    return run_error("signals and timers: {}", std::strerror(errno));
  FL_TRY_ASSIGN(number, epoll_->add(signals_.get(), EPOLLIN));
  signals_number_ = number;
  FL_TRY(epoll_->add(timer_.get(), EPOLLIN | EPOLLET));
  return {};
}

void Machine::set_timer(Time until) {
  if (std::exchange(timer_at_, until) == until) return;
  itimerspec at{};
  if (until != Time::never()) at.it_value = clock_.boot_time(until);
  FL_CHECK(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr) == 0, "{}",
           std::strerror(errno));
}

IoEvent Machine::wait(Time until) {
  for (;;) {
    while (const std::optional<Epoll::Ready> ready = epoll_->take()) {
      if (const std::optional<IoEvent> event = handle(*ready)) return *event;
    }
    // Before it reports the time, the loop looks once more for ready descriptors, so neither starves the other.
    const bool is_time = now() >= until;
    if (is_time && std::exchange(has_looked_, false)) return {.kind = IoEvent::Kind::kTime};
    has_looked_ = is_time;
    if (!is_time) set_timer(until);
    epoll_->look(!is_time);
  }
}

std::optional<IoEvent> Machine::handle(const Epoll::Ready& ready) {
  if (ready.number == signals_number_) {
    signalfd_siginfo signal{};
    const bool came = ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
    return came ? std::optional(IoEvent{.kind = IoEvent::Kind::kTerminate}) : std::nullopt;
  }
  if (std::optional<IoEvent> event = connections_.handle(ready)) {
    if (event->kind == IoEvent::Kind::kConnected)
      event->peer.is_admin = !event->peer.is_unknown &&
                             is_administrator(event->peer.uid, event->peer.gid, admin_group_);
    return event;
  }
  if (notices_.handle(ready)) return std::nullopt;
  return tasks_.handle(ready);
}

std::vector<std::string> Machine::missing_limits() const {
  std::vector<std::string> missing;
  if (!limits_.has_memory()) missing.emplace_back("memory (--mem)");
  if (!limits_.has_cpu()) missing.emplace_back("processors (--cpus)");
  if (gpus_ && !limits_.has_devices()) missing.emplace_back("the devices of GPUs");
  return missing;
}

std::uint16_t Machine::free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

}  // namespace

Result<std::unique_ptr<RealIo>> RealIo::open(RealIoOptions options) {
  return Machine::open(std::move(options));
}

}  // namespace fairlead
