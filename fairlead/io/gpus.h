// What the GPUs of the machine do, as their driver says, and which processes do it.
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/io/nvml.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead {

class Gpus {
 public:
  // `names`: the UUIDs of the machine's GPUs, in its order. Nothing: there are none, or the driver does
  // not answer; or this is a container with processes of its own, in which those that the driver names
  // are not found.
  static std::optional<Gpus> open(const std::string& library, std::vector<std::string> names);

  // Costs a few milliseconds for each GPU. A GPU that does not answer has no processes.
  GpuLook look(const std::function<bool(pid_t)>& is_ours) const;

 private:
  Gpus(std::unique_ptr<Nvml> nvml, std::vector<std::string> names)
      : nvml_(std::move(nvml)), names_(std::move(names)) {}

  std::unique_ptr<Nvml> nvml_;
  std::vector<std::string> names_;
};

}  // namespace fairlead
