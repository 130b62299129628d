// NVIDIA's management library (NVML), of which the used parts are loaded if it exists.
//
// A GPU that is divided into MIG instances is replaced by them: each is a GPU by itself, whose name ends with its profile.
//
// Source: NVML API reference, device queries, event handling and MIG; NVIDIA's MIG user guide, device nodes.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/gpu_driver.h"

#include <memory>
#include <span>
#include <string>

namespace fairlead {

// Error: there is no such library, it is another one, or the driver does not answer.
Result<std::unique_ptr<GpuDriver>> load_nvml(std::span<const std::string> libraries);

// Returns the number of the device that an instance of MIG needs: the line "gpu0/gi1/ci0/access 12" of the kernel
// module's table (/proc/driver/nvidia-caps/mig-minors) is for compute instance 0 of GPU instance 1 of /dev/nvidia0.
// Nothing: the table has no such line.
std::optional<std::uint32_t> mig_device(const std::string& table, std::uint32_t gpu,
                                        std::uint32_t gpu_instance, std::uint32_t compute_instance);

}  // namespace fairlead
