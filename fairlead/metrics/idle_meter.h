// Capacity that is idle while there is demand for all of it. Ours.
//
// O(1) a call.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>

namespace fairlead {

class IdleMeter {
 public:
  // Adds to the number of GPUs that unfinished jobs ask for, and to the number that they have.
  void add_demand(std::int64_t gpus) { demand_ += gpus; }
  void add_allocated(std::int64_t gpus) { allocated_ += gpus; }
  // Lets time pass in which there are so many usable GPUs. Called before the first change at its end.
  void advance(Duration time, std::int64_t gpus) {
    used_ += occupancy(time, allocated_);
    if (gpus == 0 || demand_ < gpus) return;
    wanted_ += occupancy(time, gpus);
    idle_ += occupancy(time, gpus) - occupancy(time, allocated_);
  }

  // Returns the GPU time that jobs had.
  GpuTime used() const { return used_; }
  // Returns the idle part of the capacity at the times with demand for all of it; 0 if there were none.
  double idle_when_wanted() const {
    if (wanted_.gpu_ms <= 0) return 0;
    return static_cast<double>(idle_.gpu_ms) / static_cast<double>(wanted_.gpu_ms);
  }

 private:
  std::int64_t demand_ = 0;
  std::int64_t allocated_ = 0;
  GpuTime used_;
  GpuTime wanted_;  // capacity while the demand is at least as large
  GpuTime idle_;    // idle part of wanted_
};

}  // namespace fairlead
