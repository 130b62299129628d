// KnownSpeed: a policy's knowledge of speeds.
//
// A policy declares its need (Needs::rates): nothing; all rates from the start; or profiles, measured during runs. A
// profile belongs to a user and a model, because jobs of one user's model are alike (Gandiva_fair, EuroSys 2020).
// Rates come from one of two sources (SpeedSource of profile_options.h):
//
//  - A table that counts as the truth, a simulator's or an operator's. A profile's rates on a GPU type become known for
//    every gang size and tier at once. This happens when one of its jobs has had GPUs of that type for its overhead and
//    `length` more. A run that is cut shorter counts as well: it lacks only a few mini-batches.
//  - Only measurements (measured_rates.h): gangs of one GPU type that worked for `length`, at the rates that the world
//    or the jobs reported. The table, if any, only decides which gangs cannot run and which GPU types jobs run on.
//    Policies that need all rates get estimates from the start. For a type without measurements of the profile, the
//    estimate is its rate on measured types times the gain of other profiles there (type_ratios.h). A profile without
//    measurements runs at speed 1 on the mean GPU. Once the JobProfile of a user's model was seen (event.h), the
//    speeds of gangs that were not measured follow from the nearest measurement on the type, and from the links: the
//    other gang computes for as long as the measured one (communication.h). Measurements go first.
//
// rate: O(log rows) with the table; O(types x sizes x tiers measured) without. on_start: O(slices). see_profile, and
// add_node after it: O(nodes). Memory: one word per job and one instant per profile and type; measurements: see
// measured_rates.h.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/event.h"
#include "fairlead/model/knowledge.h"
#include "fairlead/model/measured_rates.h"

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
struct ProfileOptions;

// A speed that was measured for a user's model on gangs of one GPU type, size and tier.
struct LearnedSpeed {
  UserId user;
  ModelId model;  // none: of jobs without one
  GpuTypeId type;
  double per_gpu = 0;  // relative to the reference gang, of which each GPU has speed 1
  MeasuredRate measured;
  JobProfile profile{};  // the model's, which learn() ignores
};

class KnownSpeed {
 public:
  // `table`: null if there is none; then all rates are measured. All arguments must outlive this object.
  KnownSpeed(const Speed* table, const Cluster& cluster, const Jobs& jobs, RatesNeeded needed,
             const ProfileOptions& options);
  ~KnownSpeed();

  // Returns the speed, relative to the job's reference, of `gpus` GPUs of one type at one tier. Returns nullopt if the
  // speed is not known (yet, or any more), and 0 if the gang is known to be infeasible. Never nullopt for policies that
  // need all rates.
  std::optional<Rate> rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // Returns the rate at the best tier that a gang of that size can have here; 0 also if it is not known yet.
  Rate best_rate(JobId job, GpuTypeId type, std::uint32_t gpus) const {
    return rate(job, type, gpus, cluster_.best_tier(gpus)).value_or(Rate{});
  }
  // Returns a number. Jobs with the same number have equal known speeds on every gang at any time, and ask for the same
  // number of GPUs. O(1).
  std::uint64_t alike(JobId job) const;
  // Returns whether the job's model need not be tried on the type: its speed there is known, a trial runs now, or a trial
  // has shown that no sensor measures it. O(1).
  bool is_tried(JobId job, GpuTypeId type) const;
  // Returns the skew of the job's model, 0 to 1: its largest tensor / all gradients (Gu et al., Tiresias, NSDI 2019,
  // section 3.3). Returns nullopt if neither a job profile nor the model's figures in the table have it. In the table,
  // it is known without a run. O(1).
  std::optional<double> skew(JobId job) const;
  // Returns the links that gangs share, after congestion. Returns null if gangs share none, or if the jobs' traffic is
  // unknown: with measured speeds, the measurements include the sharing.
  const Fabric* shared_links() const;
  // Returns an iteration of the gang when it shares its links with no other gang; nullopt if the job's speed is not
  // computed from communication figures. model/uplinks.h computes the effect of sharing. O(slices).
  // REQUIRES: shared_links().
  std::optional<Iteration> iteration(JobId job, Gang gang) const;
  // Returns a number that rises whenever a known rate may have changed. Rates of the table never change. A policy that
  // caches rates compares this number.
  std::uint64_t revision() const;

  // Returns all measured speeds, by user and model in the order of their first jobs. O(measured).
  std::vector<LearnedSpeed> learned() const;
  // Takes over a speed that an earlier run has learned. O(log speeds).
  // REQUIRES: its model is of the tables' models; its type is of this cluster.
  void learn(const LearnedSpeed& speed);
  // Forgets the measured speeds of a user's model, except on gangs that run. Returns false if there are none. O(jobs).
  bool forget(UserId user, ModelId model);

  // Takes over the profile of a job, for all jobs of the user and model. Returns false if it is known, or is not needed
  // because the table has the speeds. REQUIRES: add_job(); the profile is plausible.
  bool see_profile(JobId job, const JobProfile& profile);

  // Called by the engine: the clock; a job that was added to the job table; a node that was added to the cluster.
  void set_now(Time now);
  void add_job(JobId job);
  void add_node();
  void reserve(std::size_t jobs) { profile_.reserve(jobs); }
  // Called when the job gets a gang, with the expected rate; 0: unknown. Called once for each copy.
  void on_run_begin(JobId job, Gang gang, Rate rate);
  // Called when the gang has started; it is idle for the first `overhead`. Called once for each copy.
  void on_start(JobId job, Gang gang, Duration overhead);
  void on_rate(JobId job, Rate rate);
  void on_run_end(JobId job);

 private:
  struct State;  // options and measurements

  std::uint32_t profile(UserId user, ModelId model);
  bool measures() const;
  std::optional<MeasuredGang> measurable(JobId job, Gang gang) const;
  std::optional<Rate> measured(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  std::optional<double> predicted(const MeasuredGang& gang, GpuTypeId type) const;
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
  std::vector<Time> known_at_;  // by profile and type; for rates of the table
  std::unique_ptr<State> state_;
};

}  // namespace fairlead
