#include "fairlead/policy/dally/tiers.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/kit/domains.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Returns true if a gang that requires the level may be as far apart as the tier lets it.
bool allows(Level required, DallyTier tier) {
  if (required == kAnywhere || tier == DallyTier::kNode) return true;
  return tier == DallyTier::kRack ? required >= kRackLevel : required > kRackLevel;
}

// Returns null if there are none: limits that change count when a job is started.
const TaskLimits* lasting_limits(const Jobs& jobs) {
  return jobs.limits != nullptr && jobs.limits->is_lasting() ? jobs.limits : nullptr;
}

Tier tier_for(DallyTier tier, std::uint32_t gpus) {
  return tier == DallyTier::kNode && gpus <= 2 ? Tier::kPair : domain_tier(tier);
}

}  // namespace

DallyTier dally_tier_of(const Cluster& cluster, Gang gang) {
  const Tier tier = cluster.tier_of(gang);
  if (tier == Tier::kSpine) return DallyTier::kNetwork;
  return tier == Tier::kRack ? DallyTier::kRack : DallyTier::kNode;
}

std::uint32_t LargestGangs::of(const View& view, JobId job, GpuTypeId type, DallyTier tier) {
  const Cluster& cluster = view.cluster;
  const std::uint32_t task = view.jobs.task_gpus[job];
  const TaskLimits* const limits = lasting_limits(view.jobs);
  const auto usable = [&](NodeId node) {
    const std::uint32_t tasks = cluster.node_gpus[node] / task;
    return (limits == nullptr ? tasks : std::min(tasks, limits->most_tasks(job, node))) * task;
  };
  if (std::exchange(nodes_, cluster.nodes()) != cluster.nodes()) by_task_.clear();
  IdVector<GpuTypeId, Gangs>& gangs =
      by_task_[{task, limits == nullptr ? 0 : limits->kind_of(job)}];
  if (gangs.empty()) {
    for (GpuTypeId each : ids<GpuTypeId>(cluster.type_names.size())) {
      Gangs& of_type = gangs.grow_to(each);
      for (DallyTier domain : kDallyTierList) {
        of_type[index_of(domain)] =
            most_in_domain(cluster, domain_tier(domain), type_bit(each), usable);
      }
    }
  }
  return gangs[type][index_of(tier)];
}

JobTiers JobTiers::of(const View& view, JobId job, LargestGangs& largest) {
  JobTiers made;
  made.rates_.resize(view.cluster.type_names.size());
  const std::uint32_t gpus = view.jobs.gpus[job];
  for (GpuTypeId type : ids<GpuTypeId>(made.rates_.size())) {
    for (DallyTier tier : kDallyTierList) {
      const std::optional<Rate> known = view.speed.rate(job, type, gpus, tier_for(tier, gpus));
      made.rates_[type][index_of(tier)] = known.value_or(Rate{0}).value();
    }
  }
  made.find_room(view, job, largest);
  return made;
}

void JobTiers::find_room(const View& view, JobId job, LargestGangs& largest) {
  const std::uint32_t task = view.jobs.task_gpus[job];
  for (DallyTier tier : kDallyTierList) {
    const std::size_t i = index_of(tier);
    if (tier > DallyTier::kNode && view.jobs.gpus[job] == task) return;  // it cannot be spread
    if (tier == DallyTier::kNetwork && view.cluster.rack_nodes.size() == 1) return;
    if (!allows(view.jobs.closeness[job].required, tier)) return;
    for (GpuTypeId type : ids<GpuTypeId>(rates_.size())) {
      if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
      if (largest.of(view, job, type, tier) < view.jobs.gpus[job]) continue;
      if (rates_[type][i] <= 0) continue;
      runs_[i] |= type_bit(type);
      fastest_[i] = std::max(fastest_[i], rates_[type][i]);
    }
  }
}

TypeMask JobTiers::faster_than(DallyTier tier, double rate) const {
  TypeMask faster = 0;
  for (GpuTypeId type : ids<GpuTypeId>(rates_.size())) {
    if (rates_[type][index_of(tier)] > rate) faster |= type_bit(type);
  }
  return faster & types(tier);
}

double JobTiers::fastest() const { return std::ranges::max(fastest_); }

DallyTier JobTiers::best() const {
  for (DallyTier tier : kDallyTierList) {
    if (types(tier) != 0) return tier;
  }
  return DallyTier::kNetwork;
}

double JobTiers::at_widest() const {
  for (DallyTier tier : {DallyTier::kNetwork, DallyTier::kRack, DallyTier::kNode}) {
    if (fastest(tier) > 0) return fastest(tier);
  }
  return 0;
}

double JobTiers::slowest() const {
  double slowest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(rates_.size())) {
    for (DallyTier tier : kDallyTierList) {
      if ((types(tier) & type_bit(type)) == 0) continue;
      if (slowest == 0 || rate(type, tier) < slowest) slowest = rate(type, tier);
    }
  }
  return slowest;
}

bool JobTiers::must_mix() const {
  return std::ranges::all_of(runs_, [](TypeMask types) { return types == 0; });
}

void TierTable::refresh(const View& view) {
  if (row_of_.size() < view.jobs.size()) row_of_.resize(view.jobs.size(), kNone);
  if (revision_ == view.speed.revision() && nodes_ == view.cluster.nodes()) return;
  revision_ = view.speed.revision();
  nodes_ = view.cluster.nodes();
  for (Row& row : rows_) row.is_known = false;
}

TierTable::Row& TierTable::row(const View& view, JobId job) const {
  if (row_of_[job] != kNone) return rows_[row_of_[job]];
  const Jobs& jobs = view.jobs;
  const TaskLimits* const limits = lasting_limits(jobs);
  const Kind kind{.alike = view.speed.alike(job),
                  .types = jobs.types[job],
                  .gpus = jobs.gpus[job],
                  .task_gpus = jobs.task_gpus[job],
                  .required = jobs.closeness[job].required,
                  .limited = limits == nullptr ? 0 : limits->kind_of(job)};
  const auto next = static_cast<std::uint32_t>(rows_.size());
  const auto [found, is_new] = row_of_kind_.try_emplace(kind, next);
  if (is_new) rows_.emplace_back();
  return rows_[row_of_[job] = found->second];
}

const JobTiers& TierTable::of(const View& view, JobId job) const {
  Row& found = row(view, job);
  if (!found.is_known) found = {JobTiers::of(view, job, largest_), true};
  return found.tiers;
}

}  // namespace fairlead
