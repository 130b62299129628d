// The electrical power of GPU types: data/gpu_power.yaml.
//
//   power: [{name: H100, busy_w: 700, idle_w: 71.8, source: where they are published}]
#pragma once

#include "fairlead/base/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// The power of one GPU with its board, in watts.
struct GpuPower {
  double busy_w = 0;               // under load: the highest power of the board
  std::optional<double> idle_w{};  // none: no measurement is published
  std::string source{};            // of both
};

// The table that is part of the binary, by GPU type.
std::map<std::string, GpuPower> builtin_gpu_power();
Result<std::map<std::string, GpuPower>> parse_gpu_power_yaml(std::string_view text,
                                                             std::string_view file);

}  // namespace fairlead
