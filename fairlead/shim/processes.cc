#include "fairlead/shim/processes.h"

#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <memory>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>

namespace fairlead::shim {
namespace {

// A list that changes while it is read is read again, at most that often.
constexpr int kTries = 20;

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0) all.push_back(pid);
  }
  return all;
}

// True if the process has another parent now. A listing misses a parent that has ended, or that /proc hides because it
// is another user's. Only the former changes the parent.
bool has_moved(const Process& process) {
  const std::optional<Process> now = find_process(process.pid);
  return now && now->started == process.started && now->parent != process.parent;
}

}  // namespace

std::optional<Process> find_process(pid_t pid) {
  const std::optional<std::string> text = read_file("/proc/" + std::to_string(pid) + "/stat");
  // The second field is the program's name in parentheses, which may have any character in it.
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(name_end + 1));
  Process process{.pid = pid};
  fields >> process.state >> process.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> process.started;
  if (!fields) return std::nullopt;
  return process;
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
  id.erase(std::find(id.begin(), id.end(), '\n'), id.end());
  return id;
}

// glibc has these functions since 2.36, and 2.36 declares them only for C.
int open_process(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

void send_signal_to(int pidfd, int signal) {
  syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

void send_signal(const Process& process, int signal) {
  const int descriptor = open_process(process.pid);
  if (descriptor < 0) return;
  // The process id may have been reused before the pidfd was opened, but not after.
  const std::optional<Process> now = find_process(process.pid);
  if (now && now->started == process.started) send_signal_to(descriptor, signal);
  close(descriptor);
}

Tree descendants(pid_t root) {
  Tree tree;
  std::vector<Process> all;
  std::unordered_map<pid_t, std::vector<std::size_t>> children;
  std::unordered_set<pid_t> listed;
  for (const pid_t pid : all_pids()) {
    const std::optional<Process> process = find_process(pid);
    if (!process)
      tree.is_whole = false;  // it may have started another process, which is not listed
    if (!process) continue;
    children[process->parent].push_back(all.size());
    all.push_back(*process);
    listed.insert(pid);
  }
  for (const Process& process : all) {
    if (listed.count(process.parent) == 0 && has_moved(process)) tree.is_whole = false;
  }
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const auto found = children.find(open.back());
    open.pop_back();
    if (found == children.end()) continue;
    for (const std::size_t i : found->second) {
      tree.processes.push_back(all[i]);
      open.push_back(all[i].pid);
    }
  }
  return tree;
}

namespace {

// Returns whether the process has a handler for the signal, or blocks it to wait for it. False if it has ended. A
// process that blocks SIGSEGV as well is starting another one at this moment (vfork), and waits for nothing.
bool handles(pid_t process, int signal) {
  const std::string text = read_file("/proc/" + std::to_string(process) + "/status").value_or("");
  const auto has = [&](std::string_view field, int number) {
    const std::size_t at = text.find(field);
    if (at == std::string::npos) return false;
    const std::uint64_t set = std::strtoull(text.c_str() + at + field.size(), nullptr, 16);
    return (set >> (number - 1) & 1) != 0;
  };
  return has("\nSigCgt:", signal) || (has("\nSigBlk:", signal) && !has("\nSigBlk:", SIGSEGV));
}

std::string command_of(pid_t process) {
  return read_file("/proc/" + std::to_string(process) + "/cmdline").value_or("");
}

bool is_helper(const Process& process) {
  const std::string command = command_of(process.pid);
  return command == command_of(process.parent) ||
         command.find("multiprocessing") != std::string::npos;
}

}  // namespace

bool workers_handle(const std::vector<Process>& processes, int signal) {
  std::unordered_set<pid_t> parents, all;
  for (const Process& process : processes) all.insert(process.pid);
  std::vector<pid_t> counted;
  for (const Process& process : processes) {
    const bool is_first = all.count(process.parent) == 0;
    if (process.has_ended() || (!is_first && is_helper(process))) continue;
    counted.push_back(process.pid);
    parents.insert(process.parent);
  }
  return !counted.empty() && std::all_of(counted.begin(), counted.end(), [&](pid_t pid) {
    return parents.count(pid) != 0 || handles(pid, signal);
  });
}

void signal_descendants(pid_t root, int signal) {
  Tree tree = descendants(root);
  for (int i = 0; i < kTries && !tree.is_whole; ++i) tree = descendants(root);
  for (const Process& process : tree.processes) send_signal(process, signal);
}

bool stop_descendants(pid_t root, int limit_ms) {
  const std::int64_t end = monotonic_ms() + limit_ms;
  // A process that is stopped while it is listed may have started another one just before, which is not listed.
  // Therefore nothing runs only if the same processes are stopped in two listings.
  std::vector<Process> before;
  for (bool was_still = false;;) {
    Tree tree = descendants(root);
    bool is_still = tree.is_whole;
    for (const Process& process : tree.processes) {
      if (process.is_still()) continue;
      is_still = false;
      send_signal(process, SIGSTOP);
    }
    if (is_still && was_still && tree.processes == before) return true;
    if (monotonic_ms() >= end) return false;
    if (!is_still) poll(nullptr, 0, 1);  // signals take effect a moment after they are sent
    was_still = is_still;
    before = std::move(tree.processes);
  }
}

}  // namespace fairlead::shim
