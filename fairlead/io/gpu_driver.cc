#include "fairlead/io/gpu_driver.h"

#include "fairlead/io/nvml.h"
#include "fairlead/io/rocm_smi.h"

#include <fmt/format.h>

namespace fairlead {

Result<std::unique_ptr<GpuDriver>> open_gpu_driver(const GpuLibraries& libraries) {
  auto nvidia = load_nvml(libraries.nvml);
  if (nvidia && !(*nvidia)->gpus().empty()) return nvidia;
  auto amd = load_rocm_smi(libraries.rocm_smi);
  if (amd && !(*amd)->gpus().empty()) return amd;
  const std::string of_nvidia =
      nvidia ? "the NVIDIA driver knows of no GPU" : nvidia.error().message;
  const std::string of_amd = amd ? "the AMD driver knows of no GPU" : amd.error().message;
  return input_error("{}; {}", of_nvidia, of_amd);
}

}  // namespace fairlead
