#include "fairlead/policy/kit/preemption.h"

#include "fairlead/model/step.h"

#include <algorithm>

namespace fairlead {
namespace {

using Counts = std::array<std::uint32_t, kGpuTypesMax>;

TypeMask bit(std::size_t type) { return TypeMask{1} << type; }

// The first allowed type that has `gpus` GPUs, else none.
TypeMask type_with(const Counts& counts, std::size_t type_count, std::uint32_t gpus,
                   TypeMask types) {
  for (std::size_t type = 0; type < type_count; ++type) {
    if ((types & bit(type)) != 0 && counts[type] >= gpus) return bit(type);
  }
  return 0;
}

// All allowed types if they have `gpus` GPUs together, else none.
TypeMask mix_with(const Counts& counts, std::size_t type_count, std::uint32_t gpus,
                  TypeMask types) {
  std::uint64_t together = 0;
  for (std::size_t type = 0; type < type_count; ++type) {
    if ((types & bit(type)) != 0) together += counts[type];
  }
  return together >= gpus ? types : TypeMask{0};
}

}  // namespace

void Preemption::clear() {
  victims_.clear();
  chosen_.clear();
  types_ = 0;
}

void Preemption::begin(const View& view, const Plan& plan, bool mixes) {
  clear();
  mixes_ = mixes;
  types_ = view.cluster.type_names.size();
  if (types_ == 1) {
    left_[0] = plan.free().capacity();
    idle_[0] = plan.free().total();
    return;
  }
  for (std::size_t type = 0; type < types_; ++type) {
    left_[type] = idle_[type] = plan.free().of(GpuTypeId(type));
  }
  for (JobId job : view.running) {
    for (Slice slice : plan.gang(job))
      left_[view.cluster.node_type[slice.node].row()] += slice.gpus;
  }
}

std::uint32_t Preemption::left() const {
  std::uint32_t gpus = 0;
  for (std::size_t type = 0; type < types_; ++type) gpus += left_[type];
  return gpus;
}

void Preemption::keep(const View& view, JobId job) {
  if (!take_gpus_of(view, job)) victims_.push_back(job);
}

bool Preemption::take_gpus_of(const View& view, JobId job) {
  if (types_ == 1) {
    if (left_[0] < view.jobs.allocated_gpus[job]) return false;
    left_[0] -= view.jobs.allocated_gpus[job];
    return true;
  }
  const Counts before = left_;
  for (Slice slice : view.jobs.last_gang(job)) {
    std::uint32_t& left = left_[view.cluster.node_type[slice.node].row()];
    if (left < slice.gpus) {
      left_ = before;
      return false;
    }
    left -= slice.gpus;
  }
  return true;
}

void Preemption::admit(ClassQueue& waiting, ClassQueue::Class& from) {
  const TypeMask claimed = claim(from.gpus(), from.types());
  if (claimed == 0) return from.block();
  const std::uint32_t level = from.level();
  chosen_.push_back({waiting.pop(from), level, from.gpus(), from.types(), claimed});
}

TypeMask Preemption::claim(std::uint32_t gpus, TypeMask types) {
  TypeMask claimed = 0;
  for (const Counts& counts : {idle_, left_}) {
    if (claimed == 0) claimed = type_with(counts, types_, gpus, types);
    if (claimed == 0 && mixes_) claimed = mix_with(counts, types_, gpus, types);
  }
  if (claimed == 0) return 0;
  for (std::size_t type = 0; type < types_ && gpus > 0; ++type) {
    if ((claimed & bit(type)) == 0) continue;
    const std::uint32_t taken = std::min(gpus, left_[type]);
    left_[type] -= taken;
    idle_[type] -= std::min(taken, idle_[type]);
    gpus -= taken;
  }
  return claimed;
}

void Preemption::carry_out(const PlacementOf& placement_of, const View& view, Plan& plan,
                           bool jobs_return) {
  for (JobId job : victims_) plan.stop(job, StopCause::kPriority);
  const auto returns = [&](const Chosen& chosen) {
    return jobs_return && place_back_on(view, plan, chosen.key.job, chosen.gpus, chosen.claim);
  };
  for (const Chosen& chosen : chosen_) {
    if (placement_of(chosen.level).scheme == Placement::Scheme::kCount) returns(chosen);
  }
  for (const Chosen& chosen : chosen_) {
    const JobId job = chosen.key.job;
    if (plan.has_gang(job) || returns(chosen)) continue;
    const Placement placement = placement_of(chosen.level);
    if (place(placement, view.cluster, plan, job, chosen.gpus, chosen.claim)) continue;
    if (chosen.claim != chosen.types) {
      place(placement, view.cluster, plan, job, chosen.gpus, chosen.types);
    }
  }
  for (JobId job : victims_) place_back(view.jobs, plan, job);
  if (!plan.is_cut()) return;
  for (JobId job : victims_) {
    if (plan.has_gang(job)) continue;
    place(placement_of(0), view.cluster, plan, job, view.jobs.gpus[job], view.jobs.types[job]);
  }
}

bool place_back_on(const View& view, Plan& plan, JobId job, std::uint32_t gpus, TypeMask types) {
  const Gang last = view.jobs.last_gang(job);
  const auto is_of_types = [&](Slice slice) {
    return (types & type_bit(view.cluster.node_type[slice.node])) != 0;
  };
  return gpus_of(last) == gpus && std::ranges::all_of(last, is_of_types) &&
         place_back(view.jobs, plan, job);
}

}  // namespace fairlead
