#include "fairlead/replay/gpu_sums.h"

namespace fairlead {

void GpuSums::pass(const FreeIndex& free, std::size_t types, Time from, Time to) {
  free_.resize(types);
  for (GpuTypeId type : ids<GpuTypeId>(types))
    free_[type.row()] += std::int64_t{free.of(type)} * (to - from).ms;
}

void GpuSums::hold(UserId user, GpuTypeId type, std::int64_t gpus, Time t) {
  std::vector<Held>& types = held_.grow_to(user);
  if (types.size() <= type.row()) types.resize(type.row() + std::size_t{1});
  Held& held = types[type.row()];
  held = {.gpus = held.gpus + gpus, .gpu_ms = held.up_to(t), .since = t};
}

GpuSums::Sums GpuSums::up_to(Time t, TypeMask types) const {
  Sums sums{.free = free_, .held = {}};
  sums.held.reserve(held_.size());
  for (const std::vector<Held>& user : held_) {
    std::int64_t held = 0;
    for (GpuTypeId type : ids<GpuTypeId>(user.size()))
      if ((types & type_bit(type)) != 0) held += user[type.row()].up_to(t);
    sums.held.push_back(held);
  }
  return sums;
}

}  // namespace fairlead
