// The container of a job: the command of podman that starts it within the processes and the cgroups of the job.
//
// podman has no daemon, so a container is below the job's shim. Its options leave the container in the job's cgroups.
// Therefore a container is frozen, limited and ended as any other process of the job (docs/decisions/0088-containers.md).
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The words of `fairlead run --container` that the job's command has to pass on.
struct ContainerAsk {
  std::string image{};
  std::vector<std::string> options{};  // for `podman run`, after the options of Fairlead
};

// The facts of the process that becomes `podman run`.
struct ContainerPlace {
  std::string folder{};                    // the job's folder
  std::string hook{};                      // the hook for Python (python/hook); empty: none
  std::string process{};                   // this process: "4242.17", its number and start time
  std::vector<std::string> environment{};  // "NAME=value"
  std::vector<std::string> devices{};      // gpu_devices()
  std::string group{};                     // path of its cgroup v2, "/fairlead/..."; empty: none
  std::uint64_t memory_bytes = 0;          // the memory of the machine
  bool is_unified = true;                  // no cgroup v1 is mounted
  bool is_root = false;
  bool has_terminal = false;
};

// Returns the path of podman. `path`: folders, as in PATH. Error: names the packages to install.
Result<std::string> find_podman(std::string_view path);

// Returns the devices of GPUs that a container gets, as values of podman's --device. `root`: "/", except in tests. `cuda`
// and `rocr`: the job's CUDA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES. On a machine without a driver there is none.
// Error: no CDI specification names one of NVIDIA's GPUs.
Result<std::vector<std::string>> gpu_devices(const std::filesystem::path& root,
                                             std::string_view cuda, std::string_view rocr);

// Returns the command with its first word "podman". O(all words).
std::vector<std::string> podman_command(const ContainerAsk& ask, const ContainerPlace& place,
                                        const std::vector<std::string>& command);

}  // namespace fairlead
