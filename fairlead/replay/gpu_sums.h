// The free GPUs, and each user's GPUs, summed over the time so far in GPU-milliseconds. The sums of a
// period are differences of these. A change costs O(1), a sum O(users).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/free_index.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class GpuSums {
 public:
  // Adds the time from `from` to `to`, with these GPUs free.
  void pass(const FreeIndex& free, std::size_t types, Time from, Time to);
  // Called when the user gets `gpus` more GPUs of the type at `t`.
  void add_allocated(UserId user, GpuTypeId type, std::int64_t gpus, Time t);

  struct Sums {
    std::vector<std::int64_t> free;       // by GPU type
    std::vector<std::int64_t> allocated;  // GPUs in use of the given types, by user
  };
  Sums up_to(Time t, TypeMask types) const;

 private:
  struct Allocated {
    std::int64_t gpus = 0;
    std::int64_t gpu_ms = 0;  // up to `since`
    Time since;
    std::int64_t up_to(Time t) const { return gpu_ms + gpus * (t - since).ms; }
  };
  std::vector<std::int64_t> free_;
  IdVector<UserId, std::vector<Allocated>> allocated_;  // by type
};

}  // namespace fairlead
