// The reports of the GPUs' driver: NVIDIA's (io/nvml.h) or AMD's (io/rocm_smi.h), by the library that is installed.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/device_program.h"
#include "fairlead/io/io.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead {

class GpuDriver {
 public:
  virtual ~GpuDriver() = default;

  struct Gpu {
    std::string name;  // "NVIDIA A100-SXM4-80GB"
    std::string uuid;  // "GPU-...", "MIG-...": as in the variable visible_devices()
  };
  // Returns the GPUs in the driver's order; omits GPUs that do not answer. Instances of a divided GPU replace it.
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
  // Returns a device without which no process can use the GPU, and which no other GPU needs. Nothing: the driver does not
  // report it.
  virtual std::optional<DeviceNumber> device(const std::string& uuid) = 0;
  // Returns why a GPU is out of service: the driver does not list it, has an error for it, or has reported a critical one
  // since it was loaded. Empty: it is in service.
  virtual std::string error(const std::string& uuid) = 0;
  // Returns the environment variable that names the GPUs a program may use.
  virtual const char* visible_devices() const = 0;
};

// Names of libraries, of which the first that exists is loaded.
struct GpuLibraries {
  std::vector<std::string> nvml = {"libnvidia-ml.so.1"};
  // Versions of ROCm differ in the number. The last one is found where AMD's packages have it, without a search path.
  std::vector<std::string> rocm_smi = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                       "librocm_smi64.so.5", "librocm_smi64.so.1",
                                       "/opt/rocm/lib/librocm_smi64.so"};
};

// Returns the driver that lists a GPU: NVIDIA's first. Error: there is none, with the reason of each that is installed.
Result<std::unique_ptr<GpuDriver>> open_gpu_driver(const GpuLibraries& libraries = {});

}  // namespace fairlead
