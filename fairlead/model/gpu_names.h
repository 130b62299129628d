// Short names of GPUs, for the full names that drivers and clusters report.
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// Returns the short name: "A100" for "NVIDIA A100-SXM4-80GB", "A100-1g.10gb" for "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
// "MI250X" for "Aldebaran [AMD Instinct MI250X/MI250]".
std::string short_gpu_name(std::string_view name);

}  // namespace fairlead
