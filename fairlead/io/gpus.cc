#include "fairlead/io/gpus.h"

#include "fairlead/io/accounts.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <sys/stat.h>

namespace fairlead {
namespace {

// The server of NVIDIA's Multi-Process Service computes for its clients; the clients are counted instead.
constexpr std::string_view kService = "nvidia-cuda-mps";

// The first namespace of processes has this number on every machine (PROC_PID_INIT_INO of Linux).
bool sees_all_processes() {
  constexpr ino_t kFirst = 0xEFFFFFFC;
  struct stat now {};
  return ::stat("/proc/self/ns/pid", &now) == 0 && now.st_ino == kFirst;
}

// A program may call itself whatever it likes.
std::string printable_name(std::string name) {
  name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
  std::ranges::replace_if(
      name, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return name;
}

}  // namespace

std::optional<Gpus> Gpus::open(const GpuLibraries& libraries) {
  Result<std::unique_ptr<GpuDriver>> driver = open_gpu_driver(libraries);
  if (!driver) return std::nullopt;
  return Gpus(*std::move(driver));
}

GpuLook Gpus::look(std::span<const std::string> names,
                   const std::function<std::optional<TaskId>(pid_t)>& task_of) const {
  GpuLook look;
  const bool sees_all = sees_all_processes();
  for (std::uint32_t gpu = 0; gpu < names.size(); ++gpu) {
    look.errors.push_back(driver_->error(names[gpu]));
    look.busy_percent.push_back(driver_->busy_percent(names[gpu]).value_or(-1));
    look.power_w.push_back(driver_->power_w(names[gpu]).value_or(-1));
    look.memory.push_back(driver_->memory(names[gpu]).value_or(GpuMemory()));
    if (!sees_all) continue;
    std::vector<pid_t> pids = driver_->processes(names[gpu]).value_or(std::vector<pid_t>());
    std::ranges::sort(pids);
    for (const pid_t pid : pids) {
      const std::optional<TaskId> task = task_of(pid);
      if (!task) continue;
      const std::string folder = fmt::format("/proc/{}", pid);
      const std::optional<std::string> name = shim::read_file(folder + "/comm");
      struct stat now {};
      if (!name || name->starts_with(kService) || ::stat(folder.c_str(), &now) != 0) continue;
      look.processes.push_back({.gpu = gpu,
                                .pid = static_cast<std::uint64_t>(pid),
                                .name = printable_name(*name),
                                .user = account_name(now.st_uid),
                                .task = *task,
                                .is_root = now.st_uid == 0});
    }
  }
  return look;
}

std::vector<DeviceNumber> Gpus::devices(std::span<const std::string> names) const {
  std::vector<DeviceNumber> devices;
  for (const std::string& name : names) {
    if (const auto number = driver_->device(name)) devices.push_back(*number);
  }
  return devices;
}

}  // namespace fairlead
