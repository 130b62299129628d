// UserSums: the GPUs that each user's jobs ask for and have, summed up job by job as they change (ours).
//
// A GPU of a job counts as `allocated` GPUs of the cluster's mix of types: two, if the job is twice as
// fast on it as on the mean GPU that it can use. These counts are whole units of 1e-12 GPUs, so their sums
// do not depend on the order of jobs, and a restored run has the same sums.
//
// update: O(types + slices) for each job that changed; O(jobs x types) if speeds or capacities changed.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/policy/kit/changed_jobs.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <map>
#include <span>

namespace fairlead {

// The mean speed of the job on a gang of that size, over the GPUs of the cluster that it can use; 0 if it
// runs on none of them. O(types).
double speed_on_mean(const View& view, const Plan& plan, JobId job, std::uint32_t gang);

class UserSums {
 public:
  static constexpr double kUnitsPerGpu = 1e12;  // 64 bits are enough for 9 million GPUs
  // Sums of a user's jobs that wait or run.
  struct Sums {
    std::uint64_t gpus = 0;            // GPUs asked for: of each job the largest gang
    std::int64_t allocated_units = 0;  // GPUs of the mix that the GPUs allocated count as
    std::map<std::uint32_t, std::uint32_t> gangs{};  // number of jobs by the gang asked for
    friend bool operator==(const Sums&, const Sums&) = default;
    double allocated() const { return static_cast<double>(allocated_units) / kUnitsPerGpu; }
    std::uint32_t largest_gang() const { return gangs.empty() ? 0 : gangs.rbegin()->first; }
    // REQUIRES: the user asks for GPUs.
    std::uint32_t smallest_gang() const { return gangs.begin()->first; }
  };

  // Brings the sums up to date with the news and the draft. `edited`: the jobs that the draft placed or
  // stopped since the last call.
  void update(const View& view, const Plan& plan, std::span<const JobId> edited);
  // Returns the GPUs of the mix that the GPUs of the job count as. O(types + slices).
  static double allocated(const View& view, const Plan& plan, JobId job) {
    return static_cast<double>(allocated_units(view, plan, job)) / kUnitsPerGpu;
  }
  // By user; users without a job yet may have no row.
  const IdVector<UserId, Sums>& sums() const { return sums_; }

 private:
  static constexpr std::int64_t kAbsent = -1;

  bool agrees(const View& view, const Plan& plan) const;
  void set(const View& view, const Plan& plan, JobId job);
  void remove(const View& view, JobId job);
  static std::int64_t allocated_units(const View& view, const Plan& plan, JobId job);

  IdVector<UserId, Sums> sums_;
  IdVector<JobId, std::int64_t> allocated_units_;  // as summed; kAbsent: not among the sums
  ChangedJobs changed_;
};

}  // namespace fairlead
