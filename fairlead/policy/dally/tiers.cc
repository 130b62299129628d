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
  // Limits that change count when a job is started.
  const TaskLimits* const limits =
      view.jobs.limits != nullptr && view.jobs.limits->is_lasting() ? view.jobs.limits : nullptr;
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
  if (rows_.size() < view.jobs.size()) rows_.resize(view.jobs.size());
  if (std::exchange(revision_, view.speed.revision()) == view.speed.revision()) return;
  for (Row& row : rows_) row.is_known = false;
}

const JobTiers& TierTable::of(const View& view, JobId job) const {
  Row& row = rows_[job];
  if (!row.is_known) row = {JobTiers::of(view, job, largest_), true};
  return row.tiers;
}

void TierTable::forget(JobId job) { rows_[job] = {}; }

}  // namespace fairlead
