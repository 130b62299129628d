#include "fairlead/explain/moment.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/kit/no_place.h"
#include "fairlead/policy/kit/placement.h"

#include <algorithm>
#include <bit>

namespace fairlead {

void AllocatedByOrder::add(std::size_t rank, std::int64_t gpus) {
  while (rank + 1 >= tree_.size()) {  // doubles the size: the new last node is the sum of all
    const std::size_t size = tree_.size() - 1;
    tree_.resize(2 * std::max<std::size_t>(size, 1) + 1);
    tree_.back() = total_;
  }
  total_ += gpus;
  for (std::size_t i = rank + 1; i < tree_.size(); i += i & -i) tree_[i] += gpus;
}

std::int64_t AllocatedByOrder::after(std::size_t rank) const {
  std::int64_t up_to = 0;
  for (std::size_t i = std::min(rank + 1, tree_.size() - 1); i > 0; i -= i & -i) up_to += tree_[i];
  return total_ - up_to;
}

Moment::Moment(const Tables& tables, const PlacementTraits& traits, Time now)
    : tables_(tables), traits_(traits), present_(now) {
  free_.emplace(tables.cluster);
  allocated_by_order_.resize(tables.cluster.type_names.size());
  held_.resize(tables.users.size());
  for (NodeId node : ids<NodeId>(tables.cluster.nodes())) set_usable(node);
  std::vector<std::pair<Time, JobId>> present;
  for (const JobSet* jobs : {&tables.running, &tables.waiting})
    for (JobId job : jobs->members()) present.emplace_back(tables.jobs.arrival[job], job);
  for (const auto& [job, until] : tables.held_until)
    present.emplace_back(tables.jobs.arrival[job], job);
  std::ranges::sort(present);
  for (const auto& [arrival, job] : present) come(job, arrival);
  for (JobId job : tables.running.members()) run(job, tables.jobs.last_gang(job), 1);
}

void Moment::before(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::Run& run) { allocated_by_order_.resize(run.gpu_types.size()); },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled,
                                 record::Evicted, record::Stop, record::StartFailed> auto& what) {
                   if (tables_.jobs.state[what.job] == JobState::kRunning)
                     run(what.job, tables_.jobs.last_gang(what.job), -1);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Moment::after(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::User&) { held_.push_back(0); },
                 [&](const record::Node&) {
                   if (free_) free_->add_node();
                   fits_.clear();
                 },
                 [&](const record::Arrived& arrived) { come(arrived.asked.job, record.t); },
                 [&](const record::Place& place) { run(place.job, place.gang, 1); },
                 [&](const OneOf<record::GpusDown, record::GpusUp, record::Closed,
                                 record::Uncordoned> auto& what) {
                   if (!free_) free_.emplace(tables_.cluster);
                   set_usable(what.node);
                   fits_.clear();
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Moment::set_usable(NodeId node) {
  const std::uint64_t usable = tables_.nodes[node].usable();
  free_->set_gpus(node, static_cast<std::uint32_t>(std::popcount(usable)));
}

void Moment::come(JobId job, Time arrival) {
  if (!free_) free_.emplace(tables_.cluster);
  if (arrival != last_came_) ++came_;
  last_came_ = arrival;
  order_.grow_to(job) = came_;
}

void Moment::run(JobId job, Gang gang, std::int64_t sign) {
  for (Slice slice : gang) {
    if (sign > 0) free_->take(slice.node, slice.gpus);
    if (sign < 0) free_->give(slice.node, slice.gpus);
    allocated_by_order_[tables_.cluster.node_type[slice.node]].add(order_[job], sign * slice.gpus);
    held_[tables_.jobs.user[job]] += sign * slice.gpus;
  }
  add_room(job, gang, sign > 0);
  fits_.clear();
}

void Moment::add_room(JobId job, Gang gang, bool takes) {
  for (Slice slice : gang) {
    const std::uint32_t tasks = slice.gpus / tables_.jobs.task_gpus[job];
    takes ? room_.take(job, slice.node, tasks) : room_.give(job, slice.node, tasks);
  }
}

// Returns the amounts of other resources that the running jobs leave.
const TaskRoom& Moment::room() {
  if (room_.begin(tables_.jobs.limits, tables_.cluster.nodes())) {
    for (JobId job : tables_.running.members()) add_room(job, tables_.jobs.last_gang(job), true);
  }
  return room_;
}

std::int64_t Moment::usable(TypeMask types) const {
  std::int64_t usable = 0;
  for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size()))
    if ((types & type_bit(type)) != 0) usable += free_->capacity(type);
  return usable;
}

std::int64_t Moment::down(TypeMask types) const {
  std::int64_t installed = 0;
  for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size()))
    if ((types & type_bit(type)) != 0) installed += tables_.cluster.type_gpus[type];
  return installed - usable(types);
}

GangAsked Moment::wanted(JobId job) const {
  const Jobs& jobs = tables_.jobs;
  return {traits_.smallest ? jobs.gpus_min[job] : jobs.gpus[job], jobs.task_gpus[job]};
}

std::int64_t Moment::allocated_later(JobId job) const {
  std::int64_t held = 0;
  for (GpuTypeId type : ids<GpuTypeId>(allocated_by_order_.size())) {
    if ((tables_.jobs.types[job] & type_bit(type)) != 0)
      held += allocated_by_order_[type].after(order_[job]);
  }
  return held;
}

bool Moment::is_patient(Time since) const { return now() - since < traits_.near + traits_.near; }

Placement Moment::placement_of(JobId job, Time since) const {
  if (traits_.near.ms >
      0) {  // it accepts one node, one rack or any place, by the length of its wait
    const Duration waits = now() - since;
    if (waits < traits_.near) return Placement::kConsolidate;
    return waits < traits_.near + traits_.near
               ? Placement::kRack
               : Placement::kBestFit.mixing(traits_.placement.mixes);
  }
  const bool has_node = wanted(job).gpus <= tables_.cluster.node_gpus_max;
  return traits_.one_node && has_node ? Placement::kConsolidate : traits_.placement;
}

Moment::Kind Moment::kind_of(JobId job, Time since) const {
  const GangAsked gang = wanted(job);
  const TaskLimits* const limits = tables_.jobs.limits;
  return {gang.gpus, gang.task_gpus, tables_.jobs.types[job], placement_of(job, since),
          limits == nullptr ? 0 : limits->kind_of(job)};
}

Fit Moment::fit(JobId job, Time since) {
  if (free_->of(tables_.jobs.types[job]) < wanted(job).gpus) return Fit::kTooFew;
  const Kind kind = kind_of(job, since);
  const auto found = fits_.find(kind);
  if (found != fits_.end()) return found->second;
  Fit fit = fit_of(*free_, kind);
  if (fit == Fit::kFits && std::get<4>(kind) != 0) fit = fit_of_limited(job, kind);
  return fits_.emplace(kind, fit).first->second;
}

Fit Moment::fit_of_limited(JobId job, const Kind& kind) {
  const Jobs& jobs = tables_.jobs;
  const LimitedGpus usable =
      limited_gpus(tables_.cluster, *free_, room(), job, jobs.task_gpus[job]);
  const auto has_types = [&](TypeMask types) {
    return has_place(std::get<Placement>(kind), tables_.cluster, usable.free, usable.sizes,
                     wanted(job), types);
  };
  const TypeMask types = jobs.types[job];
  bool fits = !traits_.one_type && has_types(types);
  for (GpuTypeId type : ids<GpuTypeId>(traits_.one_type ? tables_.cluster.type_names.size() : 0))
    fits = fits || ((types & type_bit(type)) != 0 && has_types(type_bit(type)));
  if (fits) return Fit::kFits;
  switch (room().scarcest(job, *free_, jobs.task_gpus[job])) {
    case TaskResource::kCpu:
      return Fit::kTooLittleCpu;
    case TaskResource::kMemory:
      return Fit::kTooLittleMemory;
    case TaskResource::kReserved:
      return Fit::kReserved;
    case TaskResource::kOther:
      break;
  }
  return Fit::kScattered;
}

bool Moment::fitted(JobId job, Time since) const {
  return free_before_->of(tables_.jobs.types[job]) >= wanted(job).gpus &&
         fit_of(*free_before_, kind_of(job, since)) == Fit::kFits;
}

Fit Moment::fit_of(const FreeIndex& free, const Kind& kind) const {
  const auto& [gpus, task_gpus, types, placement, limited] = kind;
  if (!traits_.one_type) return fit_of_types(free, {gpus, task_gpus}, types, placement);
  Fit best = Fit::kNever;
  for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size())) {
    const TypeMask only = types & type_bit(type);
    if (only == 0) continue;
    const Fit fit = fit_of_types(free, {gpus, task_gpus}, only, placement);
    if (fit == Fit::kFits) return fit;
    if (fit != Fit::kNever) best = Fit::kScattered;
  }
  return best;
}

Fit Moment::fit_of_types(const FreeIndex& free, GangAsked gang, TypeMask types,
                         Placement placement) const {
  const Placement of_one_type = placement.mixing(false);
  const bool counts = of_one_type == Placement::kCount || of_one_type == Placement::kFirstFit ||
                      of_one_type == Placement::kBestFit || of_one_type == Placement::kSpread;
  if (counts && gang.task_gpus == 1 && placement.mixes && free.of(types) >= gang.gpus) {
    return Fit::kFits;
  }
  for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    if (counts && gang.task_gpus == 1 && free.of(type) >= gang.gpus) return Fit::kFits;
    if (!free.first(type, gang.gpus, free.everywhere()).is_none()) return Fit::kFits;
  }
  const NoPlace found = why_no_place(placement, tables_.cluster, free, gang, types);
  if (found.why == Misfit::kNone) return Fit::kFits;
  return found.never ? Fit::kNever : Fit::kScattered;
}

}  // namespace fairlead
