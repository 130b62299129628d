// KnownSpeed: what a policy may know of speeds, which is less than what is true.
//
// A policy says what it needs (Needs::rates): nothing; the whole table; or profiles, measured
// during runs. A profile belongs to a user and a model, as jobs of one user's model are alike
// (Gandiva_fair, EuroSys 2020): its rates on a GPU type become known once one of its jobs has held
// GPUs of that type for its overhead and `length` more. A hold that is cut shorter counts as well:
// it lacks only a few mini-batches.
//
// rate: O(log rows). on_hold: O(slices). Memory: one word per job, one instant per profile and
// type.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/model/speed.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fairlead {

enum class RatesNeeded : std::uint8_t {
  kNone,
  kProfiled,  // measured during runs
  kTable,     // the whole table from the start
};

struct ProfileOptions {
  Duration length = seconds(10);  // of running after the overhead; chosen: some mini-batches
  double noise = 0;               // largest relative error of a profiled rate, 0..0.9
  std::uint64_t seed = 0;         // of the noise
};

class KnownSpeed {
 public:
  // What is passed must outlive it.
  KnownSpeed(const Speed& truth, const Cluster& cluster, const Jobs& jobs, RatesNeeded needed,
             const ProfileOptions& options);

  // Speed relative to the job's reference, of `gpus` GPUs of one type at one tier; nullopt where it
  // is not known (yet), Rate 0 where it is known to be infeasible.
  std::optional<Rate> rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // At the best tier that a gang of that size can have here; 0 also where that is not known yet.
  Rate best_rate(JobId job, GpuTypeId type, std::uint32_t gpus) const {
    return rate(job, type, gpus, best_tier(gpus)).value_or(Rate{});
  }
  // The largest tensor of the job's model / all that the model exchanges, 0 to 1 (Gu et al.,
  // Tiresias, NSDI 2019, section 3.3); nullopt where the model does not say. It is a property of
  // the model, known without a run. O(1).
  std::optional<double> skew(JobId job) const;
  // The best tier that a gang of that size can have here.
  Tier best_tier(std::uint32_t gpus) const { return truth_.best_tier(gpus); }

  // The engine's side: the clock; that a job is in the table now; and that it holds a gang from now
  // on, idle for the first `overhead`.
  void set_now(Time now) { now_ = now; }
  void add_job(JobId job);
  void reserve(std::size_t jobs) { profile_.reserve(jobs); }
  void on_hold(JobId job, Gang gang, Duration overhead);

 private:
  std::size_t row(JobId job, GpuTypeId type) const {
    return profile_[job] * cluster_.type_names.size() + type.row();
  }
  double error_of(std::size_t row) const;

  const Speed& truth_;
  const Cluster& cluster_;
  const Jobs& jobs_;
  const RatesNeeded needed_;
  const ProfileOptions options_;
  Time now_;
  IdVector<JobId, std::uint32_t> profile_;
  std::unordered_map<std::uint64_t, std::uint32_t> profiles_;  // by user and model
  std::vector<Time> known_at_;                                 // by profile and type
};

}  // namespace fairlead
