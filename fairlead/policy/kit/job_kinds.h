// JobKinds: groups of jobs with equal gangs asked for and equal speeds on every gang (ours).
//
// A policy that needs speeds of all jobs in a decision computes them once for each kind. Kinds and speeds follow from
// the view and the plan, so a policy does not save them.
//
// update: O(types). row: O(1), or O(log kinds) in the first call for a job. speeds: O(sizes asked for of the kind), or
// O(types x tiers) in the first call after speeds changed. Memory: 4 bytes per job.
#pragma once

#include "fairlead/policy/kit/changed_jobs.h"
#include "fairlead/policy/policy.h"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace fairlead {

class JobKinds {
 public:
  // The speeds of a gang size; 0: the gang cannot run, or its speed is unknown.
  struct Speeds {
    std::uint32_t gpus = 0;
    std::vector<double> rates{};  // by GPU type and tier
    // At the best tier, over the GPUs that are up and of types that the jobs can use; 0: there are none.
    double mean = 0;
    double best = 0;

    double rate(GpuTypeId type, Tier tier) const {
      return rates[type.row() * kTiers + static_cast<std::size_t>(tier)];
    }
  };

  // The request of each job of a kind.
  struct Asked {
    TypeMask types = 0;
    std::uint32_t task_gpus = 0;
    Closeness closeness{};
  };

  // Forgets speeds that changed. To be called first in each decision.
  void update(const View& view, const Plan& plan);
  // Returns the number of the job's kind. Numbers rise from 0 and stay.
  std::uint32_t row(const View& view, JobId job);
  const Asked& asked(std::uint32_t row) const { return asked_[row]; }
  // Returns the speeds of jobs of that kind on gangs of that size. Valid until the next call.
  const Speeds& speeds(const View& view, const Plan& plan, JobId job, std::uint32_t gpus) {
    return speeds(view, plan, job, row(view, job), gpus);
  }
  // The same with row(job), where the caller has it.
  const Speeds& speeds(const View& view, const Plan& plan, JobId job, std::uint32_t row,
                       std::uint32_t gpus);
  // Rises with each change of speeds.
  std::uint64_t revision() const { return revision_; }

 private:
  struct Key {
    std::uint64_t alike = 0;
    TypeMask types = 0;
    std::uint32_t gpus_min = 0;
    std::uint32_t gpus_max = 0;
    std::uint32_t task_gpus = 0;
    std::uint32_t closeness = 0;  // Closeness::bits()
    std::uint32_t limited = 0;    // TaskLimits::kind_of() an elastic job
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::map<Key, std::uint32_t> rows_;
  IdVector<JobId, std::uint32_t> row_;
  std::vector<std::vector<Speeds>> speeds_;  // by kind
  std::vector<Asked> asked_;                 // by kind
  ChangedSpeeds changed_;
  std::uint64_t revision_ = 0;
};

}  // namespace fairlead
