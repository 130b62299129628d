#include "fairlead/io/limit_groups.h"

#include "fairlead/io/cgroups.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr std::uint32_t kPeriodUs = 100'000;  // the kernel's default
constexpr std::uint32_t kSharesOfOne = 1024;  // cpu.shares of a process, and of a group
constexpr std::uint32_t kSharesMax = 262'144;
constexpr std::uint32_t kWeightOfOne = 100;  // cpu.weight, the same
constexpr std::uint32_t kWeightMax = 10'000;

// Returns a folder of cgroup v1 for the tasks' groups, created; empty: this process may not use the controller. `file`: a
// file of its groups.
std::string find_place(std::string_view controller, std::string_view file,
                       const std::string& name) {
  for (const std::string& parent : cgroup_parents(controller)) {
    const std::string place = fmt::format("{}/fairlead/{}", parent, name);
    std::error_code failed;
    std::filesystem::create_directories(place, failed);
    const bool is_usable = !failed &&
                           ::access(fmt::format("{}/{}", place, file).c_str(), W_OK) == 0 &&
                           ::access((place + "/cgroup.procs").c_str(), W_OK) == 0;
    if (is_usable) return place;
    ::rmdir(place.c_str());  // unless it has groups of tasks
  }
  return {};
}

bool has_word(const std::string& text, std::string_view word) {
  return (" " + text.substr(0, text.find('\n')) + " ").find(fmt::format(" {} ", word)) !=
         std::string::npos;
}

// The groups above the tasks compete with all other processes of their group. By default they count as one process on the
// whole machine; now as one on each processor.
void widen_shares(const std::string& place) {
  const auto cpus = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const std::string shares =
      fmt::format("{}", std::min<std::uint64_t>(kSharesMax, cpus * kSharesOfOne));
  for (const std::string& group : {place, std::filesystem::path(place).parent_path().string()})
    try_write_cgroup(group + "/cpu.shares", shares);
}

// Returns the name of a task's group in a place, and notes it as made.
std::string add_group(const std::string& place, const std::string& task,
                      std::vector<std::string>& made) {
  return made.emplace_back(fmt::format("{}/{}", place, task));
}

// Makes the group of a task, with a limit on its memory.
Status limit_memory_v1(const std::string& group, std::uint64_t bytes) {
  FL_TRY(make_cgroup(group));
  const std::string text = fmt::format("{}", bytes);
  FL_TRY(write_cgroup(group + "/memory.limit_in_bytes", text));
  // Kernels without swap accounting do not have this file.
  const std::string with_swap = group + "/memory.memsw.limit_in_bytes";
  return ::access(with_swap.c_str(), F_OK) == 0 ? write_cgroup(with_swap, text) : Status();
}

Status limit_memory_v2(const std::string& group, std::uint64_t bytes) {
  FL_TRY(write_cgroup(group + "/memory.max", fmt::format("{}", bytes)));
  const std::string swap = group + "/memory.swap.max";
  if (::access(swap.c_str(), F_OK) == 0) FL_TRY(write_cgroup(swap, "0"));
  return write_cgroup(group + "/memory.oom.group", "1");
}

std::uint64_t quota_us(std::uint32_t cpu_milli) {
  return std::uint64_t{cpu_milli} * kPeriodUs / 1000;
}

// Returns the weight of a task, by the weight of a task with one GPU. The tenth is chosen: data loaders of jobs with GPUs
// come first, and the others go on.
std::uint64_t weight_of(const TaskBounds& bounds, std::uint64_t one) {
  return bounds.cpu_weight == 0 ? one / 10 : bounds.cpu_weight * one;
}

// Makes the group of a task, with its part of the processors.
Status limit_cpu_v1(const std::string& group, const TaskBounds& bounds) {
  FL_TRY(make_cgroup(group));
  const std::uint64_t shares = weight_of(bounds, kSharesOfOne);
  FL_TRY(write_cgroup(group + "/cpu.shares",
                      fmt::format("{}", std::min<std::uint64_t>(shares, kSharesMax))));
  if (bounds.cpu_milli == 0) return {};
  FL_TRY(write_cgroup(group + "/cpu.cfs_period_us", fmt::format("{}", kPeriodUs)));
  const std::string quota = group + "/cpu.cfs_quota_us";
  const int error = try_write_cgroup(quota, fmt::format("{}", quota_us(bounds.cpu_milli)));
  // A group above has less, which then limits the task.
  if (error == 0 || error == EINVAL) return {};
  return run_error("{}: {}", quota, std::strerror(error));
}

// Makes the group of a task, with the devices that it may not open.
Status deny_devices_v1(const std::string& group, const std::vector<DeviceNumber>& denied) {
  FL_TRY(make_cgroup(group));
  for (const DeviceNumber device : denied) {
    FL_TRY(write_cgroup(group + "/devices.deny",
                        fmt::format("c {}:{} rwm", device.major_number, device.minor_number)));
  }
  return {};
}

Status limit_cpu_v2(const std::string& group, const TaskBounds& bounds) {
  const std::uint64_t weight = weight_of(bounds, kWeightOfOne);
  FL_TRY(write_cgroup(group + "/cpu.weight",
                      fmt::format("{}", std::min<std::uint64_t>(weight, kWeightMax))));
  if (bounds.cpu_milli == 0) return {};
  return write_cgroup(group + "/cpu.max",
                      fmt::format("{} {}", quota_us(bounds.cpu_milli), kPeriodUs));
}

// Returns the number on the line of a file of a group; 0: there is none.
std::uint64_t number_on_line(const std::string& file, std::string_view name) {
  const std::string text = "\n" + shim::read_file(file).value_or("");
  const std::string start = fmt::format("\n{} ", name);
  const std::size_t at = text.find(start);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + start.size(), nullptr, 10);
}

}  // namespace

LimitGroups LimitGroups::find(const std::string& name, const std::string& unified) {
  LimitGroups found;
  found.memory_ = find_place("memory", "memory.limit_in_bytes", name);
  found.cpu_ = find_place("cpu", "cpu.cfs_quota_us", name);
  found.devices_ = find_place("devices", "devices.deny", name);
  if (!found.cpu_.empty()) widen_shares(found.cpu_);
  if (!unified.empty()) found.use_unified(unified);
  return found;
}

void LimitGroups::use_unified(const std::string& unified) {
  const std::string passed_on = shim::read_file(unified + "/cgroup.subtree_control").value_or("");
  has_unified_memory_ = memory_.empty() && has_word(passed_on, "memory");
  has_unified_cpu_ = cpu_.empty() && has_word(passed_on, "cpu");
  has_unified_devices_ = devices_.empty() && can_deny_devices(unified);
}

Result<std::vector<std::string>> LimitGroups::make(const std::string& task,
                                                   const std::string& unified,
                                                   const TaskBounds& bounds) const {
  std::vector<std::string> made;
  if (!memory_.empty() && bounds.memory_bytes > 0)
    FL_TRY(limit_memory_v1(add_group(memory_, task, made), bounds.memory_bytes));
  if (!cpu_.empty()) FL_TRY(limit_cpu_v1(add_group(cpu_, task, made), bounds));
  if (!devices_.empty() && !bounds.denied.empty())
    FL_TRY(deny_devices_v1(add_group(devices_, task, made), bounds.denied));
  FL_TRY(limit_unified(unified, bounds));
  return made;
}

Status LimitGroups::limit_unified(const std::string& unified, const TaskBounds& bounds) const {
  if (unified.empty()) return {};
  if (has_unified_memory_ && bounds.memory_bytes > 0)
    FL_TRY(limit_memory_v2(unified, bounds.memory_bytes));
  if (has_unified_cpu_) FL_TRY(limit_cpu_v2(unified, bounds));
  const bool denies = has_unified_devices_ && !bounds.denied.empty();
  return denies ? deny_devices(unified, bounds.denied) : Status();
}

std::vector<std::string> LimitGroups::places() const {
  std::vector<std::string> places = {memory_, cpu_, devices_};
  std::erase(places, std::string());
  return places;
}

void LimitGroups::remove(const std::string& task) const {
  for (const std::string& place : places()) remove_cgroup(fmt::format("{}/{}", place, task));
}

void LimitGroups::remove() const {
  for (const std::string& place : places()) remove_cgroup(place);
}

bool has_run_out_of_memory(const std::string& group) {
  return number_on_line(group + "/memory.events", "oom_kill") > 0 ||
         number_on_line(group + "/memory.oom_control", "oom_kill") > 0;
}

}  // namespace fairlead
