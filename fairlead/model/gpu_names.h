// Short names of GPUs, for the full names that drivers and clusters report.
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// Returns the short name: "A100" for "NVIDIA A100-SXM4-80GB".
std::string short_gpu_name(std::string_view name);

}  // namespace fairlead
