// The load of a task's GPUs, which their driver reports: a weak sign of speed for tasks that no sensor measures
// (measure/sensors.h). A GPU that computes all the time may still be slow. So the load is only shown: no policy learns it,
// and no trade rests on it.
#pragma once

#include <cstdint>
#include <optional>

namespace fairlead {

// A mean over looks. O(1).
class LookMean {
 public:
  // Adds a look; -1: the driver did not report the value.
  void add(int value);
  std::optional<double> value() const;

 private:
  std::int64_t sum_ = 0, looks_ = 0;
};

// Means over looks and GPUs.
struct DriverLoad {
  LookMean busy_percent;  // the part of the moment before a look in which the GPU computed
  LookMean power_w;
};

}  // namespace fairlead
