// The parts of NVIDIA's management library (NVML) that are used; loaded if it exists.
//
// Source: NVML API reference, device queries and event handling.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead {

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

class Nvml {
 public:
  // Error: there is no such library, it is another one, or the driver does not answer.
  static Result<std::unique_ptr<Nvml>> load(const std::string& library = kNvmlLibrary);
  virtual ~Nvml() = default;

  struct Gpu {
    std::string name;  // "NVIDIA A100-SXM4-80GB"
    std::string uuid;  // "GPU-...", as in CUDA_VISIBLE_DEVICES
  };
  // Returns the GPUs in the driver's order; omits GPUs that do not answer.
  virtual std::vector<Gpu> gpus() = 0;
  // Returns the processes that compute on a GPU, as numbered by the machine's first namespace. Nothing: the driver does
  // not report them.
  virtual std::optional<std::vector<pid_t>> processes(const std::string& uuid) = 0;
  // Returns the percentage of the last moment (a second or less) in which a GPU computed. Nothing: the driver does not
  // report it.
  virtual std::optional<int> busy_percent(const std::string& uuid) = 0;
  // Returns the watts that a GPU draws. Nothing: the driver does not report it.
  virtual std::optional<int> power_w(const std::string& uuid) = 0;
  // Nothing: the driver does not report it.
  virtual std::optional<GpuMemory> memory(const std::string& uuid) = 0;
  // Returns the number of a GPU's device, 3 of /dev/nvidia3. Nothing: the driver does not report it.
  virtual std::optional<std::uint32_t> device_number(const std::string& uuid) = 0;
  // Returns why a GPU is out of service: the driver does not list it, has an error for it, or has reported a critical one
  // (Xid) since it was loaded. Empty: it is in service.
  virtual std::string error(const std::string& uuid) = 0;
};

}  // namespace fairlead
