// KnownSpeed: what a policy may know of speeds.
//
// A policy says what it needs (Needs::rates): nothing; all rates from the start; or profiles,
// measured during runs. A profile belongs to a user and a model, as jobs of one user's model are
// alike (Gandiva_fair, EuroSys 2020). Where the answers come from (SpeedSource of
// profile_options.h):
//
//  - A table that is taken for the truth, a simulator's or an operator's. A profile's rates on a GPU
//    type, at every gang size and tier, become known once one of its jobs has held GPUs of that type
//    for its overhead and `length` more. A hold that is cut shorter counts as well: it lacks only a
//    few mini-batches.
//  - Only what was measured (measured_rates.h): gangs of one GPU type that worked for `length`, at
//    the rates that the world or the jobs themselves said. What cannot run at all is known from the
//    table, if there is one, as the GPU types that jobs run on are. Policies that need all rates get
//    an answer from the start: on a type that the profile was not measured on, that of the types on
//    which it was, times what others gain there (type_ratios.h); a profile that was not measured at
//    all runs at speed 1 on the mean GPU.
//
// rate: O(log rows) by the table; O(types x sizes x tiers measured). on_start: O(slices). Memory:
// one word per job, one instant per profile and type; see measured_rates.h for what is measured.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/knowledge.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fairlead {

class Fabric;
class Speed;
struct Iteration;
struct Jobs;
struct MeasuredGang;
struct ProfileOptions;

class KnownSpeed {
 public:
  // `table`: null where there is none, so that all is measured. What is passed must outlive it.
  KnownSpeed(const Speed* table, const Cluster& cluster, const Jobs& jobs, RatesNeeded needed,
             const ProfileOptions& options);
  ~KnownSpeed();

  // Speed relative to the job's reference, of `gpus` GPUs of one type at one tier; nullopt where it
  // is not known (yet, or any more), Rate 0 where it is known to be infeasible. Never nullopt for
  // policies that need all rates.
  std::optional<Rate> rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // At the best tier that a gang of that size can have here; 0 also where that is not known yet.
  Rate best_rate(JobId job, GpuTypeId type, std::uint32_t gpus) const {
    return rate(job, type, gpus, best_tier(gpus)).value_or(Rate{});
  }
  // The largest tensor of the job's model / all that the model exchanges, 0 to 1 (Gu et al.,
  // Tiresias, NSDI 2019, section 3.3); nullopt where the model does not say. It is a property of
  // the model, known without a run. O(1).
  std::optional<double> skew(JobId job) const;
  // The links that gangs share, after congestion; null where they share none, or where it is not
  // known what jobs exchange over them: if all is measured, it was measured as they were shared.
  const Fabric* shared_links() const;
  // An iteration of the gang if it shares its links with no other; nullopt where the job's speed does
  // not come from what it communicates. What sharing leaves of it: model/uplinks.h. O(slices).
  // REQUIRES: shared_links().
  std::optional<Iteration> iteration(JobId job, Gang gang) const;
  // The best tier that a gang of that size can have here.
  Tier best_tier(std::uint32_t gpus) const;
  // Rises whenever a rate that was known may have changed, which no rate of the table ever does.
  // Policies that keep rates ask anew then.
  std::uint64_t revision() const;

  // The engine's side: the clock; that a job is in the table now.
  void set_now(Time now);
  void add_job(JobId job);
  void reserve(std::size_t jobs) { profile_.reserve(jobs); }
  // The job holds a gang and, as far as the world knows, will run on it at that rate; 0: it does not
  // know. Once for each copy.
  void on_hold(JobId job, Gang gang, Rate rate);
  // The gang has started: it is idle for the first `overhead` from now on. Likewise.
  void on_start(JobId job, Gang gang, Duration overhead);
  void on_rate(JobId job, Rate rate);
  void on_hold_end(JobId job);

 private:
  struct State;  // options and measurements

  bool measures() const;
  std::optional<MeasuredGang> measurable(JobId job, Gang gang) const;
  std::optional<Rate> measured(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  Rate guess(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  void hear();
  Rate with_noise(Rate rate, std::size_t row) const;
  std::size_t row(JobId job, GpuTypeId type) const;
  double error_of(std::size_t row) const;

  const Speed* const table_;
  const Cluster& cluster_;
  const Jobs& jobs_;
  const RatesNeeded needed_;
  Time now_;
  IdVector<JobId, std::uint32_t> profile_;
  std::vector<Time> known_at_;  // by profile and type; by the table
  std::unique_ptr<State> state_;
};

}  // namespace fairlead
