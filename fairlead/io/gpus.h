// The load of the machine's GPUs by their driver's report, and the processes that cause it.
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
  // `names`: the UUIDs of the machine's GPUs, in its order. Nothing: there is no GPU, or the driver does not answer, or
  // this is a container with its own process numbers, in which the driver's process numbers cannot be found.
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
