// The tiers of Dally: the distance that a gang may span, and the speed of each job at it.
//
// Rates are for a gang that shares no link (kit/crowding.h has the rest). A tier has room for a
// gang on a GPU type if one idle domain of it would have enough such GPUs.
//
// Cost: O(types) for the first query of a kind of job and after rates have changed; O(log kinds) for the first query of a
// job; else O(1).
#pragma once

#include "fairlead/policy/policy.h"

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>

namespace fairlead {

enum class DallyTier : std::uint8_t { kNode, kRack, kNetwork };
constexpr std::size_t kDallyTiers = 3;
constexpr DallyTier kDallyTierList[] = {DallyTier::kNode, DallyTier::kRack, DallyTier::kNetwork};
constexpr std::size_t index_of(DallyTier tier) { return static_cast<std::size_t>(tier); }

// Returns the distance between the nodes of a domain of that tier.
constexpr Tier domain_tier(DallyTier tier) {
  if (tier == DallyTier::kNetwork) return Tier::kSpine;
  return tier == DallyTier::kRack ? Tier::kRack : Tier::kNode;
}
// Returns the tier of a gang.
DallyTier dally_tier_of(const Cluster& cluster, Gang gang);

// The largest gang of each type that one idle domain of each tier can have, by GPUs of a task.
// Remembered for each cluster size. O(1); O(types x nodes) for a new task size.
class LargestGangs {
 public:
  std::uint32_t of(const View& view, JobId job, GpuTypeId type, DallyTier tier);

 private:
  using Gangs = std::array<std::uint32_t, kDallyTiers>;
  // By the GPUs of a task, and the kind of its limits by other resources.
  std::map<std::pair<std::uint32_t, std::uint32_t>, IdVector<GpuTypeId, Gangs>> by_task_;
  std::size_t nodes_ = 0;
};

// The rates and tiers possible for one job's gang.
class JobTiers {
 public:
  static JobTiers of(const View& view, JobId job, LargestGangs& largest);

  // 0 if it does not run there.
  double rate(GpuTypeId type, DallyTier tier) const { return rates_[type][index_of(tier)]; }
  // The types that have room for it at the tier, and on which it runs there.
  TypeMask types(DallyTier tier) const { return runs_[index_of(tier)]; }
  // Returns the types of the tier on which it is faster than that rate.
  TypeMask faster_than(DallyTier tier, double rate) const;
  // The fastest rate at the tier; 0 if no type has room.
  double fastest(DallyTier tier) const { return fastest_[index_of(tier)]; }
  double fastest() const;
  // Returns the best tier with room; the network if only several types together have room.
  DallyTier best() const;
  // The fastest rates at the best and at the widest tier at which it runs; 0 if there is none.
  double at_best() const { return fastest(best()); }
  double at_widest() const;
  // The least rate of all places with room; 0 if there is none.
  double slowest() const;
  // Returns true if no type has room for it: it runs on several or nowhere.
  bool must_mix() const;

 private:
  using Rates = std::array<double, kDallyTiers>;

  void find_room(const View& view, JobId job, LargestGangs& largest);

  IdVector<GpuTypeId, Rates> rates_;
  std::array<TypeMask, kDallyTiers> runs_{};
  Rates fastest_{};
};

// The tiers of all jobs. Jobs of one kind share them: equal speeds, and gangs that fit in the same places.
class TierTable {
 public:
  // To be called first in each decision. O(1), or O(kinds) after rates or the nodes have changed.
  void refresh(const View& view);
  // Valid until the next refresh().
  const JobTiers& of(const View& view, JobId job) const;

 private:
  struct Kind {
    std::uint64_t alike = 0;
    TypeMask types = 0;
    std::uint32_t gpus = 0;
    std::uint32_t task_gpus = 0;
    Level required = kAnywhere;
    std::uint32_t limited = 0;  // TaskLimits::kind_of() the job
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Row {
    JobTiers tiers;
    bool is_known = false;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  Row& row(const View& view, JobId job) const;

  // Filled in on demand.
  mutable std::map<Kind, std::uint32_t> row_of_kind_;
  mutable IdVector<JobId, std::uint32_t> row_of_;
  mutable std::deque<Row> rows_;
  mutable LargestGangs largest_;
  std::uint64_t revision_ = 0;  // revision of the rates
  std::size_t nodes_ = 0;
};

}  // namespace fairlead
