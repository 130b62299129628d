#include "fairlead/replay/gpu_sums.h"

namespace fairlead {

void GpuSums::pass(const FreeIndex& free, std::size_t types, Time from, Time to) {
  free_.resize(types);
  for (GpuTypeId type : ids<GpuTypeId>(types))
    free_[type.row()] += std::int64_t{free.of(type)} * (to - from).ms;
}

void GpuSums::add_allocated(UserId user, GpuTypeId type, std::int64_t gpus, Time t) {
  std::vector<Allocated>& types = allocated_.grow_to(user);
  if (types.size() <= type.row()) types.resize(type.row() + std::size_t{1});
  Allocated& allocated = types[type.row()];
  allocated = {.gpus = allocated.gpus + gpus, .gpu_ms = allocated.up_to(t), .since = t};
}

GpuSums::Sums GpuSums::up_to(Time t, TypeMask types) const {
  Sums sums{.free = free_, .allocated = {}};
  sums.allocated.reserve(allocated_.size());
  for (const std::vector<Allocated>& user : allocated_) {
    std::int64_t allocated = 0;
    for (GpuTypeId type : ids<GpuTypeId>(user.size()))
      if ((types & type_bit(type)) != 0) allocated += user[type.row()].up_to(t);
    sums.allocated.push_back(allocated);
  }
  return sums;
}

}  // namespace fairlead
