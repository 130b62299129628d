// Limits on the GPUs and jobs that a set of jobs may have at once: of a user, a group, or a QOS or account of Slurm.
//
// A job that would exceed a limit is held (docs/decisions/0056, 0071), by the daemon (engine/start_order.h,
// local/group_order.h) and by the simulated world (sim/limit_holds.h).
#pragma once

#include "fairlead/base/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

struct Workload;  // model/workload.h

struct JobLimit {
  std::string name;
  std::uint32_t gpus_max = 0;  // 0: any number
  std::uint32_t jobs_max = 0;  // 0: any number
  friend bool operator==(const JobLimit&, const JobLimit&) = default;
};

// The room that jobs have left within limits. Limits are named by their positions.
class LimitRoom {
 public:
  enum class Passing : std::uint8_t {
    kNone,      // once a job found no room within a limit, no other job finds room there
    kSmallOne,  // a job that fits passes one that does not, as under Slurm
  };
  struct Refusal {
    std::size_t limit = 0;
    bool is_too_large = false;  // the job alone exceeds the limit
  };

  // `limits` must outlive the object.
  LimitRoom(std::span<const JobLimit> limits, Passing passing);
  // Takes the GPUs of a job, and the job, out of the limits `of`. A refusal takes nothing. O(of).
  std::optional<Refusal> take(std::uint32_t gpus, std::span<const std::size_t> of);
  // Returns what take() took. REQUIRES: it was taken; a small one may pass.
  void give_back(std::uint32_t gpus, std::span<const std::size_t> of);
  // Returns whether a job of one GPU may fit.
  bool has_room(std::size_t limit) const { return fits(limit, 1); }

 private:
  struct Used {
    std::uint64_t gpus = 0;
    std::uint64_t jobs = 0;
    bool is_closed = false;
  };
  bool fits(std::size_t limit, std::uint32_t gpus) const;

  std::span<const JobLimit> limits_;
  Passing passing_;
  std::vector<Used> used_;
};

// A limit on some of the jobs of a trace. Each empty list stands for all names.
struct LimitRule {
  enum class Per : std::uint8_t { kTogether, kUser, kAccount };

  JobLimit limit;
  std::vector<std::string> qos{};
  std::vector<std::string> accounts{};
  std::vector<std::string> users{};
  Per per = Per::kTogether;  // whose jobs count together
  friend bool operator==(const LimitRule&, const LimitRule&) = default;
};

// The limits of the jobs of a trace.
struct LimitedJobs {
  std::vector<JobLimit> limits;                      // one for each set of jobs
  IdVector<JobId, std::vector<std::size_t>> of_job;  // positions among the limits
  std::int64_t limited = 0;                          // jobs with a limit
  std::int64_t too_large = 0;  // jobs that alone exceed a limit, which does not apply to them
  std::int64_t unknown = 0;    // jobs whose QOS or account is not known, but a rule needs it
};

// Returns the limits of each job. `gpus_of`: the GPUs that each job may have at once; 0: it never runs, and has no limit.
// O(jobs x rules).
LimitedJobs limited_jobs(std::span<const LimitRule> rules, const Workload& workload,
                         const IdVector<JobId, std::uint32_t>& gpus_of);

}  // namespace fairlead
