// The load of the machine's GPUs by their driver's report, and the processes that cause it.
#pragma once

#include "fairlead/io/device_program.h"
#include "fairlead/io/gpu_driver.h"
#include "fairlead/io/io.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairlead {

class Gpus {
 public:
  // Nothing: no driver lists a GPU.
  static std::optional<Gpus> open(const GpuLibraries& libraries);

  // `names`: the UUIDs of the machine's GPUs, in its order. Costs a few milliseconds for each GPU. In a container with
  // its own process numbers no process is reported, because the driver's numbers cannot be found there.
  // `task_of`: TaskProcesses::task_of().
  GpuLook look(std::span<const std::string> names,
               const std::function<std::optional<TaskId>(pid_t)>& task_of) const;

  // Returns the devices of these GPUs. Leaves out GPUs of which the driver does not report it.
  std::vector<DeviceNumber> devices(std::span<const std::string> names) const;

 private:
  explicit Gpus(std::unique_ptr<GpuDriver> driver) : driver_(std::move(driver)) {}

  std::unique_ptr<GpuDriver> driver_;
};

}  // namespace fairlead
