// The tiers of Dally: how far apart a gang may be, and how fast each job would be there.
//
// Rates are those of a gang that shares no link (kit/crowding.h has the rest). A tier has room for a
// gang on a GPU type if one domain of it would have enough such GPUs, were they idle.
//
// Cost: O(types x nodes) when a job is asked about first and after rates have changed, else O(1).
#pragma once

#include "fairlead/policy/policy.h"

#include <array>
#include <cstdint>

namespace fairlead {

enum class DallyTier : std::uint8_t { kNode, kRack, kNetwork };
constexpr std::size_t kDallyTiers = 3;
constexpr DallyTier kDallyTierList[] = {DallyTier::kNode, DallyTier::kRack, DallyTier::kNetwork};
constexpr std::size_t index_of(DallyTier tier) { return static_cast<std::size_t>(tier); }

// How far apart the nodes of a domain of that tier are.
constexpr Tier domain_tier(DallyTier tier) {
  if (tier == DallyTier::kNetwork) return Tier::kSpine;
  return tier == DallyTier::kRack ? Tier::kRack : Tier::kNode;
}
// The tier that a gang has.
DallyTier dally_tier_of(const Cluster& cluster, Gang gang);

// What one job's gang could have.
class JobTiers {
 public:
  static JobTiers of(const View& view, JobId job);

  // 0 where it does not run.
  double rate(GpuTypeId type, DallyTier tier) const { return rates_[type][index_of(tier)]; }
  // The types that have room for it at the tier, and on which it runs there.
  TypeMask types(DallyTier tier) const { return runs_[index_of(tier)]; }
  // Of these, those on which it is faster than that.
  TypeMask faster_than(DallyTier tier, double rate) const;
  // The fastest rate at the tier; 0 where no type has room.
  double fastest(DallyTier tier) const { return fastest_[index_of(tier)]; }
  double fastest() const;
  // The best tier with room; the network if there is none but on several types.
  DallyTier best() const;
  // The fastest rates at the best and at the widest tier at which it runs; 0 if there is none.
  double at_best() const { return fastest(best()); }
  double at_widest() const;
  // The least rate of all places with room; 0 if there is none.
  double slowest() const;
  // No type has room for it: it runs on several or nowhere.
  bool must_mix() const;

 private:
  using Rates = std::array<double, kDallyTiers>;

  void find_room(const View& view, JobId job);

  IdVector<GpuTypeId, Rates> rates_;
  std::array<TypeMask, kDallyTiers> runs_{};
  Rates fastest_{};
};

// Of all jobs.
class TierTable {
 public:
  // To be called at the beginning of each decision.
  void refresh(const View& view);
  const JobTiers& of(const View& view, JobId job) const;
  void forget(JobId job);

 private:
  struct Row {
    JobTiers tiers;
    bool is_known = false;
  };
  mutable IdVector<JobId, Row> rows_;  // filled in as they are asked for
  std::uint64_t revision_ = 0;         // of the rates
};

}  // namespace fairlead
