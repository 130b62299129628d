#include "fairlead/policy/kit/changed_jobs.h"

#include "fairlead/model/known_speed.h"

#include <utility>

namespace fairlead {

bool ChangedSpeeds::update(const View& view, const Plan& plan) {
  const std::size_t types = view.cluster.type_names.size();
  const std::uint64_t revision = view.speed.revision();
  bool changed = capacity_.size() != types || revision_ != revision;
  revision_ = revision;
  capacity_.resize(types);
  for (GpuTypeId type : ids<GpuTypeId>(types)) {
    const std::uint32_t capacity = plan.free().capacity(type);
    changed |= std::exchange(capacity_[type.row()], capacity) != capacity;
  }
  return changed;
}

}  // namespace fairlead
