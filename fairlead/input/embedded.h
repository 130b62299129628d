// The data files that are part of the binary, by name (cmake/Embed.cmake).
#pragma once

#include "fairlead/base/embedded_file.h"

#include <span>

namespace fairlead {

std::span<const EmbeddedFile> embedded_clusters();   // data/clusters/*.yaml
std::span<const EmbeddedFile> embedded_models();     // data/models/*.yaml
std::span<const EmbeddedFile> embedded_gpu_types();  // data/gpu_types.yaml
std::span<const EmbeddedFile> embedded_gpu_power();  // data/gpu_power.yaml

}  // namespace fairlead
