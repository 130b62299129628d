// AMD's management library (ROCm SMI), of which the used parts are loaded if it exists.
//
// Source: ROCm SMI API reference; ROCm's documentation of GPU isolation (ROCR_VISIBLE_DEVICES).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/gpu_driver.h"

#include <memory>
#include <span>
#include <string>

namespace fairlead {

// Error: there is no such library, it is another one, or the driver does not answer.
Result<std::unique_ptr<GpuDriver>> load_rocm_smi(std::span<const std::string> libraries);

}  // namespace fairlead
