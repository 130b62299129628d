// The job profile: the data that a training job exchanges in each step, and the length of the step. A live world sees it
// once in a run. From it and one measured speed, KnownSpeed predicts speeds of other gangs (model/communication.h).
#pragma once

#include <cstdint>

namespace fairlead {

// kB are 1000 bytes.
struct JobProfile {
  std::uint32_t parameters_kb = 0;      // that are trained
  std::uint32_t gradients_kb = 0;       // 0: there is no profile
  std::uint32_t largest_tensor_kb = 0;  // of the gradients
  std::uint32_t workers = 0;            // processes or devices that add up their gradients
  std::uint32_t samples = 0;            // of one worker in a step; 0: not known
  std::uint32_t step_us = 0;            // of a gang with speed 1 for a job that requests one GPU

  // Returns whether a job can have it.
  bool is_plausible() const {
    return parameters_kb > 0 && largest_tensor_kb > 0 && largest_tensor_kb <= gradients_kb &&
           workers > 0 && step_us > 0;
  }
  friend bool operator==(const JobProfile&, const JobProfile&) = default;
};

}  // namespace fairlead
