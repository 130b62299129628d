#include "fairlead/io/tasks.h"

#include "fairlead/base/check.h"
#include "fairlead/io/accounts.h"
#include "fairlead/io/cgroups.h"
#include "fairlead/io/folder.h"
#include "fairlead/io/limit_groups.h"
#include "fairlead/io/spawn.h"
#include "fairlead/shim/processes.h"
#include "fairlead/shim/spec.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr int kStopLimitMs = 2000;
constexpr int kGiveUpLimitMs = 1000;
constexpr std::size_t kProgressBytes = 4096;  // enough for the last line

std::string name_of(TaskId task) { return fmt::format("{}.{}", task.job.row(), task.run); }

std::optional<TaskId> parse_name(const std::string& name) {
  std::uint32_t job = 0;
  RunId run = 0;
  const char* end = name.data() + name.size();
  const auto [dot, job_error] = std::from_chars(name.data(), end, job);
  if (job_error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [last, run_problem] = std::from_chars(dot + 1, end, run);
  if (run_problem != std::errc() || last != end) return std::nullopt;
  return TaskId{JobId(job), run};
}

// Opens a file of the user's to append to; creates it if there is none. Refuses anything but a plain file of that user;
// follows no link.
Result<Descriptor> users_file(const std::string& path, std::uint32_t uid, std::uint32_t gid) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), kFlags, 0600));
  struct stat now {};
  if (!file.is_open() || ::fstat(file.get(), &now) != 0)
    return run_error("{}: cannot make it: {}", path, std::strerror(errno));
  if (!S_ISREG(now.st_mode)) return run_error("{} is not a plain file", path);
  if (now.st_uid == uid) return file;
  if (now.st_uid != ::geteuid() || now.st_size != 0)  // not a file that was just created
    return run_error("{} belongs to user {}", path, now.st_uid);
  if (::fchown(file.get(), uid, gid) == 0) return file;
  return run_error("{}: cannot give it to user {}: {}", path, uid, std::strerror(errno));
}

Status check(const TaskSpec& spec) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (spec.command.empty() || spec.command.front().empty() || spec.processes == 0)
    return run_error("there is no command to run");
  if (spec.terminal != 0 && spec.processes != 1)
    return run_error("a terminal serves one process, but the task has {}", spec.processes);
  if (std::any_of(spec.command.begin(), spec.command.end(), has_nul) ||
      std::any_of(spec.environment.begin(), spec.environment.end(), has_nul) ||
      has_nul(spec.folder)) {
    return run_error("the command, its folder or its environment has a NUL in it");
  }
  if (::geteuid() != 0 && spec.uid != ::geteuid())
    return run_error("only root can run processes of others: this is user {}, not {}", ::geteuid(),
                     spec.uid);
  return {};
}

// Returns the last complete line, or an incomplete first one. Nothing if its beginning is cut off.
std::string last_line(std::string_view text, bool is_cut) {
  if (const auto end = text.rfind('\n'); end != text.npos) text = text.substr(0, end);
  if (const auto before = text.rfind('\n'); before != text.npos)
    return std::string(text.substr(before + 1));
  return is_cut ? std::string() : std::string(text);
}

struct Part {
  std::uint64_t begin = 0;
  std::string text;
};

// Reads a plain file of a user's from byte `from` on, at most its last `bytes_max`. The part begins at the end
// of the file if that is before `from`. Returns nothing if the file is not plain.
Part read_part(const std::string& path, std::uint64_t from, std::size_t bytes_max) {
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat now {};
  if (!file.is_open() || ::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode)) return {};
  const auto size = static_cast<std::uint64_t>(now.st_size);
  Part part{.begin =
                std::max(std::min(from, size), size - std::min<std::uint64_t>(size, bytes_max))};
  part.text.resize(static_cast<std::size_t>(size - part.begin));
  const ssize_t count =
      ::pread(file.get(), part.text.data(), part.text.size(), static_cast<off_t>(part.begin));
  part.text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return part;
}

// Gives the older part of a user's log back to the disk if it has more than `bytes_max`. The newer half of that stays, at
// the same offsets, because processes go on writing at the end. A file system without holes loses all of the log.
void cap_log(const std::string& path, std::uint64_t bytes_max) {
  constexpr std::uint64_t kStatBlock = 512;
  constexpr std::uint64_t kPage = 4096;  // only whole blocks of the file system are given back
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat now {};
  if (!file.is_open() || ::fstat(file.get(), &now) != 0 || !S_ISREG(now.st_mode)) return;
  if (static_cast<std::uint64_t>(now.st_blocks) * kStatBlock <= bytes_max) return;
  const auto size = static_cast<std::uint64_t>(now.st_size);
  const std::uint64_t end = (size - std::min(size, bytes_max / 2)) / kPage * kPage;
  if (end == 0) return;
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(end)) == 0)
    return;
  if (::ftruncate(file.get(), 0) != 0) return;  // the next look tries again
}

// Returns the last line of a file.
std::string last_line_of(const std::string& path) {
  const Part tail = read_part(path, 0, kProgressBytes);
  return last_line(tail.text, tail.begin > 0);
}

}  // namespace

Result<TaskProcesses> TaskProcesses::open(TaskOptions options, Epoll& epoll) {
  FL_TRY(make_passage(options.folder));
  FL_TRY(make_passage(options.logs));
  return TaskProcesses(std::move(options), epoll);
}

std::string TaskProcesses::folder_of(TaskId task) const { return options_.folder / name_of(task); }

std::string TaskProcesses::cgroup_of(TaskId task) const {
  return options_.cgroups.empty() ? std::string() : options_.cgroups + "/" + name_of(task);
}

TaskProcesses::Groups TaskProcesses::groups_from(const std::optional<shim::Mark>& mark) {
  if (!mark) return {};
  return {.cgroup = mark->cgroup, .limits = mark->limit_groups};
}

std::string TaskProcesses::log_path(JobId job) const {
  return options_.logs / fmt::format("{}.log", job.row());
}

std::string TaskProcesses::progress_path(TaskId task) const {
  return folder_of(task) + "/" + std::string(shim::kProgressFile);
}

Status TaskProcesses::start(const TaskSpec& spec, int terminal, std::vector<DeviceNumber> denied) {
  FL_TRY(check(spec));
  const std::string folder = folder_of(spec.id);
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return run_error("task {} was started before", name_of(spec.id));
    return run_error("{}: cannot make the folder: {}", folder, std::strerror(errno));
  }
  Groups groups{.cgroup = cgroup_of(spec.id)};
  Status status = prepare(spec);
  if (status) status = make_groups(spec, std::move(denied), groups);
  if (status) status = launch(spec, groups, terminal);
  if (!status && live_.count(spec.id) == 0) clean(spec.id, groups);
  return status;
}

Status TaskProcesses::make_groups(const TaskSpec& spec, std::vector<DeviceNumber> denied,
                                  Groups& groups) const {
  constexpr std::uint64_t kMb = 1'000'000;
  if (!groups.cgroup.empty()) FL_TRY(make_cgroup(groups.cgroup));
  FL_TRY_ASSIGN(made,
                options_.limits.make(name_of(spec.id), groups.cgroup,
                                     {.memory_bytes = spec.memory_mb * kMb,
                                      .cpu_milli = spec.cpu_milli,
                                      .cpu_weight = static_cast<std::uint32_t>(spec.gpus.size()),
                                      .denied = std::move(denied)}));
  groups.limits = std::move(made);
  return {};
}

Status TaskProcesses::prepare(const TaskSpec& spec) const {
  FL_TRY(make_passage(folder_of(spec.id)));
  for (const std::string_view file : {shim::kProgressFile, shim::kStepsFile}) {
    FL_TRY(users_file(folder_of(spec.id) + "/" + std::string(file), spec.uid, spec.gid));
  }
  return {};
}

Status TaskProcesses::launch(const TaskSpec& spec, const Groups& groups, int terminal) {
  FL_TRY_ASSIGN(log, users_file(log_path(spec.id.job), spec.uid, spec.gid));
  const bool becomes_user = spec.uid != ::geteuid();
  const shim::Spec given{
      .folder = folder_of(spec.id),
      .cgroup = groups.cgroup,
      .limit_groups = groups.limits,
      .becomes_user = becomes_user,
      .uid = spec.uid,
      .gid = spec.gid,
      .groups = becomes_user ? groups_of(spec.uid, spec.gid) : std::vector<std::uint32_t>(),
      .umask = spec.umask & 0777,
      .open_files = options_.open_files,
      .limits = spec.limits.resources,
      .niceness = static_cast<std::uint32_t>(spec.limits.nice - shim::kNiceMin),
      .processes = spec.processes,
      .has_terminal = terminal >= 0 && spec.terminal != 0,
      .has_input = terminal >= 0 && spec.terminal == 0,
      .directory = spec.folder,
      .command = spec.command,
      .environment = spec.environment,
  };
  FL_TRY_ASSIGN(spawned, spawn_shim(options_.shim, given, log, terminal));
  const bool has_begun = spawned.reply == shim::kBegan;
  // A shim that gave up ends its processes; if they take long, that must not delay others.
  if (!has_begun && reap(spawned.process, kGiveUpLimitMs)) {
    if (spawned.reply.starts_with(shim::kCannotRun)) return input_error("{}", spawned.reply);
    return run_error("{}", spawned.reply.empty() ? "the shim ended" : spawned.reply);
  }
  watch(spec.id, spawned.pid, std::move(spawned.process), groups).is_given_up = !has_begun;
  if (spawned.reply.starts_with(shim::kCannotRun)) return input_error("{}", spawned.reply);
  if (!has_begun) return run_error("{}", spawned.reply);
  return {};
}

// A daemon that would miss the end of a task must not go on; another one may have more room.
TaskProcesses::Live& TaskProcesses::watch(TaskId task, pid_t pid, Descriptor shim, Groups groups) {
  const Result<std::uint64_t> number = epoll_->add(shim.get(), EPOLLIN);
  FL_CHECK(number, "a task cannot be watched: {}", number.error().message);
  numbers_[*number] = task;
  Live live{.shim = std::move(shim), .pid = pid, .groups = std::move(groups)};
  return live_.insert_or_assign(task, std::move(live)).first->second;
}

std::optional<IoEvent> TaskProcesses::handle(const Epoll::Ready& ready) {
  const auto number = numbers_.find(ready.number);
  if (number == numbers_.end()) return std::nullopt;
  const TaskId task = number->second;
  const auto found = live_.find(task);
  if (!reap(found->second.shim, 0)) return std::nullopt;
  const Live live = std::move(found->second);
  epoll_->remove(live.shim.get());
  live_.erase(found);
  numbers_.erase(number);
  const TaskEnd end = end_of(task, live.groups);
  if (live.is_given_up) {
    clean(task, live.groups);
    return std::nullopt;
  }
  return IoEvent{.kind = IoEvent::Kind::kTaskEnded, .task = task, .end = end};
}

// Returns the end of a task whose shim has ended. A shim that left no record of the end was killed, and may have left
// processes.
TaskEnd TaskProcesses::end_of(TaskId task, const Groups& groups) const {
  if (const std::optional<shim::End> end = shim::read_end(folder_of(task))) {
    return {.code = end->code,
            .signal = end->signal,
            .was_asked = end->was_asked,
            .has_no_memory = has_run_out_of_memory(groups.cgroup) ||
                             std::ranges::any_of(groups.limits, has_run_out_of_memory)};
  }
  if (!groups.cgroup.empty()) kill_cgroup(groups.cgroup);
  for (const std::string& group : groups.limits) kill_cgroup(group);
  return {.is_known = false};
}

Status TaskProcesses::freeze(TaskId task) {
  const auto found = live_.find(task);
  if (found == live_.end()) return {};
  const Live& live = found->second;
  if (!live.groups.cgroup.empty()) {
    const Status status = freeze_cgroup(live.groups.cgroup);
    return status || has_ended(live.shim, 0) ? Status() : status;
  }
  if (shim::stop_descendants(live.pid, kStopLimitMs) || has_ended(live.shim, 0)) return {};
  return run_error("task {}: some processes did not stop within {} s", name_of(task),
                   kStopLimitMs / 1000);
}

Status TaskProcesses::thaw(TaskId task) {
  const auto found = live_.find(task);
  if (found == live_.end()) return {};
  const std::string& cgroup = found->second.groups.cgroup;
  if (!cgroup.empty()) return thaw_cgroup(cgroup);
  shim::signal_descendants(found->second.pid, SIGCONT);
  return {};
}

void TaskProcesses::interrupt(TaskId task) {
  const auto found = live_.find(task);
  if (found == live_.end()) return;
  shim::write_interrupted(folder_of(task));
  shim::send_signal_to(found->second.shim.get(), SIGUSR1);
  if (const Status thawed = thaw(task); !thawed) kill(task);  // it could not write a checkpoint
}

void TaskProcesses::kill(TaskId task) {
  const auto found = live_.find(task);
  if (found != live_.end()) shim::send_signal_to(found->second.shim.get(), SIGUSR2);
}

std::vector<TaskStatus> TaskProcesses::all() {
  std::vector<TaskId> names;
  std::error_code ended;
  std::filesystem::directory_iterator entry(options_.folder, ended);
  for (; !ended && entry != std::filesystem::directory_iterator(); entry.increment(ended)) {
    const std::string name = entry->path().filename().string();
    if (const std::optional<TaskId> task = parse_name(name)) names.push_back(*task);
  }
  std::sort(names.begin(), names.end());
  std::vector<TaskStatus> all;
  for (const TaskId task : names) {
    if (const std::optional<TaskStatus> status = look(task)) all.push_back(*status);
  }
  return all;
}

// Returns nothing if the task never started, and then removes it.
std::optional<TaskStatus> TaskProcesses::look(TaskId task) {
  const std::string folder = folder_of(task);
  for (;;) {
    if (const auto found = live_.find(task); found != live_.end())
      return status_of(task, found->second);
    std::optional<shim::Mark> mark = shim::read_mark(folder);
    if (mark && adopt(task, *mark)) continue;
    if ((mark && mark->pid != 0) || shim::read_end(folder)) {
      return TaskStatus{.id = task,
                        .state = TaskStatus::State::kEnded,
                        .was_interrupted = shim::was_interrupted(folder),
                        .end = end_of(task, groups_from(mark))};
    }
    // A late shim finds the task taken. Otherwise it has just started, and is looked up again.
    const bool is_mine = mark || shim::write_mark(folder, {.boot = shim::boot_id()});
    if (!is_mine && errno == EEXIST) continue;
    if (is_mine) clean(task, {.cgroup = cgroup_of(task)});
    return std::nullopt;
  }
}

// Watches the shim that made `mark`; false if it has ended. A process that reuses its number has another start time.
bool TaskProcesses::adopt(TaskId task, const shim::Mark& mark) {
  if (mark.pid <= 0 || mark.boot != shim::boot_id()) return false;
  Descriptor process(shim::open_process(mark.pid));
  FL_CHECK(process.is_open() || errno == ESRCH, "a task cannot be watched: {}",
           std::strerror(errno));
  const std::optional<shim::Process> now = shim::find_process(mark.pid);
  if (!process.is_open() || !now || now->started != mark.started) return false;
  if (now->has_ended() && reap(process, 0)) return false;
  watch(task, mark.pid, std::move(process), groups_from(mark));
  return true;
}

std::optional<TaskStatus> TaskProcesses::status_of(TaskId task, const Live& live) const {
  if (live.is_given_up) return std::nullopt;
  TaskStatus status{.id = task, .was_interrupted = shim::was_interrupted(folder_of(task))};
  bool is_frozen = false;
  if (!live.groups.cgroup.empty()) {
    is_frozen = is_cgroup_frozen(live.groups.cgroup);
  } else {
    // Processes that have ended but were not reaped do not count.
    const std::vector<shim::Process> below = shim::descendants(live.pid).processes;
    const auto is_still = [](const shim::Process& process) { return process.is_still(); };
    const auto is_over = [](const shim::Process& process) { return process.has_ended(); };
    is_frozen = std::all_of(below.begin(), below.end(), is_still) &&
                !std::all_of(below.begin(), below.end(), is_over);
  }
  if (is_frozen) status.state = TaskStatus::State::kFrozen;
  return status;
}

// A shim is the subreaper of its task, so all that is of the task is below it, wherever it went.
std::optional<TaskId> TaskProcesses::task_of(pid_t pid) const {
  for (pid_t at = pid; at > 1;) {
    const auto task =
        std::ranges::find_if(live_, [&](const auto& entry) { return entry.second.pid == at; });
    if (task != live_.end()) return task->first;
    const std::optional<shim::Process> process = shim::find_process(at);
    if (!process || process->has_ended()) return std::nullopt;
    at = process->parent;
  }
  return TaskId{};
}

void TaskProcesses::forget(TaskId task) {
  if (live_.count(task) != 0) return;
  clean(task, groups_from(shim::read_mark(folder_of(task))));
}

void TaskProcesses::clean(TaskId task, const Groups& groups) const {
  if (!groups.cgroup.empty()) remove_cgroup(groups.cgroup);
  for (const std::string& group : groups.limits) remove_cgroup(group);
  options_.limits.remove(name_of(task));  // if no shim has taken the task
  // The folder must go before the shim's mark: otherwise another shim could start the task meanwhile.
  const std::filesystem::path gone = options_.folder / "removed";
  std::error_code ignored;
  std::filesystem::remove_all(gone, ignored);
  std::filesystem::rename(folder_of(task), gone, ignored);
  std::filesystem::remove_all(gone, ignored);
}

bool TaskProcesses::can_save(TaskId task) const {
  const auto live = live_.find(task);
  if (live == live_.end()) return false;
  const std::string& group = live->second.groups.cgroup;
  return shim::workers_handle(
      group.empty() ? shim::descendants(live->second.pid).processes : processes_of_cgroup(group),
      SIGTERM);
}

TaskReports TaskProcesses::reports(TaskId task, std::uint64_t output_from) const {
  if (options_.log_bytes > 0) cap_log(log_path(task.job), options_.log_bytes);
  Part output = read_part(log_path(task.job), output_from, kOutputBytesMax);
  return {.progress = last_line_of(progress_path(task)),
          .steps = last_line_of(folder_of(task) + "/" + std::string(shim::kStepsFile)),
          .output = std::move(output.text),
          .output_begin = output.begin,
          .can_save = can_save(task)};
}

}  // namespace fairlead
