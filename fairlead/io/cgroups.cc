#include "fairlead/io/cgroups.h"

#include "fairlead/io/descriptor.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fairlead {
namespace {

// Processes that wait for a device freeze and end late; chosen: a long time for a GPU's driver.
constexpr int kLimitMs = 2000;

bool says(const std::string& events, std::string_view line) {
  return ("\n" + events).find("\n" + std::string(line) + "\n") != std::string::npos;
}

// Waits until cgroup.events has that line; false if it does not appear for a long time.
bool await_event(const std::string& group, std::string_view line) {
  const Descriptor file(::open((group + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return false;
  for (;;) {
    ::lseek(file.get(), 0, SEEK_SET);
    const auto events = shim::read_all(file.get());
    if (!events) return false;
    if (says(*events, line)) return true;
    pollfd changed{file.get(), POLLPRI, 0};
    if (::poll(&changed, 1, kLimitMs) <= 0) return false;
  }
}

bool has_item(std::string_view list, std::string_view item) {
  return fmt::format(",{},", list).find(fmt::format(",{},", item)) != std::string::npos;
}

// Returns the mount points of cgroup2, or of the hierarchy of a controller of cgroup v1.
std::vector<std::string> mounts(std::string_view controller) {
  std::vector<std::string> found;
  std::istringstream lines(shim::read_file("/proc/self/mounts").value_or(""));
  std::string device, folder, type, options, rest;
  while (lines >> device >> folder >> type >> options && std::getline(lines, rest)) {
    const bool is_it =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && has_item(options, controller);
    if (is_it) found.push_back(folder);
  }
  return found;
}

// Returns true if the kernel is recent enough (5.14) and processes may be moved from `parent` into `group`.
bool is_usable(const std::string& parent, const std::string& group) {
  std::error_code failed;
  std::filesystem::create_directories(group, failed);
  if (failed) return false;
  for (const std::string& file : {group + "/cgroup.procs", group + "/cgroup.freeze",
                                  group + "/cgroup.kill", parent + "/cgroup.procs"}) {
    if (::access(file.c_str(), W_OK) != 0) return false;
  }
  return true;
}

// Lets the groups of tasks limit memory and processors; false if they cannot.
bool pass_on_controllers(const std::string& parent, const std::string& group) {
  for (const char* controller : {"memory", "cpu"}) {
    for (const std::string& above : {parent, parent + "/fairlead", group}) {
      const std::string text = fmt::format("+{}", controller);
      if (!write_cgroup(above + "/cgroup.subtree_control", text)) return false;
    }
  }
  return true;
}

}  // namespace

std::string own_cgroup(std::string_view controller) {
  std::istringstream lines(shim::read_file("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t list = std::min(line.find(':'), line.size() - 1) + 1;
    const std::size_t path = std::min(line.find(':', list), line.size() - 1) + 1;
    const std::string_view controllers = std::string_view(line).substr(list, path - list - 1);
    const bool is_it = controller.empty() ? controllers.empty() : has_item(controllers, controller);
    if (is_it) return line.substr(path) == "/" ? std::string() : line.substr(path);
  }
  return {};
}

std::vector<std::string> cgroup_parents(std::string_view controller) {
  const std::string own = own_cgroup(controller);
  std::vector<std::string> parents;
  for (const std::string& mount : mounts(controller)) {
    if (!own.empty()) parents.push_back(mount + own);
    parents.push_back(mount);
  }
  return parents;
}

std::string find_cgroups(const std::string& name) {
  for (const bool must_limit : {true, false}) {
    for (const std::string& parent : cgroup_parents("")) {
      std::string group = fmt::format("{}/fairlead/{}", parent, name);
      if (is_usable(parent, group) && (!must_limit || pass_on_controllers(parent, group)))
        return group;
      // Stays if it has groups of tasks: an earlier daemon may have started one that has not joined its group yet.
      ::rmdir(group.c_str());
    }
  }
  return {};
}

int try_write_cgroup(const std::string& file, std::string_view text) {
  const Descriptor opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return opened.is_open() && shim::write_all(opened.get(), text) ? 0 : errno;
}

Status write_cgroup(const std::string& file, std::string_view text) {
  const int error = try_write_cgroup(file, text);
  if (error == 0) return {};
  return run_error("{}: {}", file, std::strerror(error));
}

Status make_cgroup(const std::string& group) {
  remove_cgroup(group);  // left by a task that was given up before it began
  if (::mkdir(group.c_str(), 0755) == 0) return {};
  return run_error("{}: cannot make the cgroup: {}", group, std::strerror(errno));
}

Status freeze_cgroup(const std::string& group) {
  FL_TRY(write_cgroup(group + "/cgroup.freeze", "1"));
  if (await_event(group, "frozen 1")) return {};
  return run_error("{}: some processes did not freeze within {} s", group, kLimitMs / 1000);
}

Status thaw_cgroup(const std::string& group) { return write_cgroup(group + "/cgroup.freeze", "0"); }

bool is_cgroup_frozen(const std::string& group) {
  return says(shim::read_file(group + "/cgroup.events").value_or(""), "frozen 1");
}

std::vector<shim::Process> processes_of_cgroup(const std::string& group) {
  std::vector<shim::Process> processes;
  std::istringstream pids(shim::read_file(group + "/cgroup.procs").value_or(""));
  for (pid_t pid = 0; pids >> pid;) {
    if (const auto process = shim::find_process(pid)) processes.push_back(*process);
  }
  return processes;
}

void kill_cgroup(const std::string& group) {
  if (try_write_cgroup(group + "/cgroup.kill", "1") == 0) {
    await_event(group, "populated 0");
    return;
  }
  for (int i = 0; i < kLimitMs; ++i) {
    std::vector<shim::Process> left = processes_of_cgroup(group);
    std::erase_if(left, [](const shim::Process& process) { return process.has_ended(); });
    if (left.empty()) return;
    for (const shim::Process& process : left) shim::send_signal(process, SIGKILL);
    ::poll(nullptr, 0, 1);
  }
}

void remove_cgroup(const std::string& group) {
  std::error_code ended;
  // A task may have created its own groups.
  std::filesystem::directory_iterator inner(group, ended);
  for (; !ended && inner != std::filesystem::directory_iterator(); inner.increment(ended)) {
    std::error_code ignored;
    if (inner->is_directory(ignored)) remove_cgroup(inner->path().string());
  }
  ::rmdir(group.c_str());
}

}  // namespace fairlead
