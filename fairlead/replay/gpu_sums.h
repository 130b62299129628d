// How many GPUs were free and who held the others, summed over the time so far: GPU-milliseconds, of
// which differences are taken. A change costs O(1), a sum O(users).
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
  // From `from` to `to` that much is free.
  void pass(const FreeIndex& free, std::size_t types, Time from, Time to);
  // The user holds so many more GPUs of the type from `t` on.
  void hold(UserId user, GpuTypeId type, std::int64_t gpus, Time t);

  struct Sums {
    std::vector<std::int64_t> free;  // by GPU type
    std::vector<std::int64_t> held;  // of the types asked for, by user
  };
  Sums up_to(Time t, TypeMask types) const;

 private:
  struct Held {
    std::int64_t gpus = 0;
    std::int64_t gpu_ms = 0;  // up to `since`
    Time since;
    std::int64_t up_to(Time t) const { return gpu_ms + gpus * (t - since).ms; }
  };
  std::vector<std::int64_t> free_;
  IdVector<UserId, std::vector<Held>> held_;  // by type
};

}  // namespace fairlead
