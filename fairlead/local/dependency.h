// Conditions under which a job starts after other jobs.
//
// A job with conditions comes as a held job, so policies get no event of it before it may start
// (docs/decisions/0055-a-job-that-waits-for-others-is-held.md). Its conditions are in its submission until it is
// released.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/engine/tables.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

// At most `unfinished_max` of the jobs from `first` to `last` are unfinished and, if `needs_success`, none of them has
// ended badly. The jobs came before the job that waits for them.
struct Dependency {
  JobId first;
  JobId last;
  std::uint32_t unfinished_max = 0;
  bool needs_success = false;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// Returns the conditions that each of the jobs has ended; well, if `needs_success`. O(jobs x log).
std::vector<Dependency> after_each(std::vector<JobId> jobs, bool needs_success);

// Returns whether all conditions are met. REQUIRES, here and below: the tables have the jobs. O(jobs of the conditions).
bool are_met(std::span<const Dependency> conditions, const Tables& tables);
// Returns a job that ended badly, so that a condition can never be met; none: there is no such job. O(jobs of the
// conditions).
JobId broken_by(std::span<const Dependency> conditions, const Tables& tables);

// Returns the conditions that are not met yet, within a sentence: "after job 12 and jobs 14 to 20". Empty: all are met.
// O(jobs of the conditions).
std::string dependencies_text(std::span<const Dependency> conditions, const Tables& tables);

}  // namespace fairlead
