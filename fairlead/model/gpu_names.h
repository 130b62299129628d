// What people call the GPUs that drivers and clusters name in full.
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// "NVIDIA A100-SXM4-80GB" is "A100".
std::string short_gpu_name(std::string_view name);

}  // namespace fairlead
