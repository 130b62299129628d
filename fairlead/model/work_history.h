// WorkHistory: the work of finished jobs, by user and model.
//
// The estimate for a new job is the mean work of the finished jobs of its user and model. If there are none, it is the
// mean of its user, then of its model, then of all jobs. docs/knowing.md has the measurements behind this choice. The
// estimate does not depend on the job's work so far: KnownWork uses the mean like a declared duration, until the job
// outlives it.
//
// O(log users x models) per call. Memory: one entry for each pair of user and model with a finished job.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <map>
#include <utility>

namespace fairlead {

class WorkHistory {
 public:
  // Adds the work of a finished job.
  void add(UserId user, ModelId model, Duration work);
  // Returns the mean, rounded down; zero if no job has finished.
  Duration mean(UserId user, ModelId model) const;

 private:
  struct Sum {
    std::int64_t jobs = 0;
    Int128 work_ms = 0;
    void add(Duration work) { ++jobs, work_ms += work.ms; }
    Duration mean() const;
  };

  std::map<std::pair<UserId, ModelId>, Sum> of_user_and_model_;
  std::map<UserId, Sum> of_user_;
  std::map<ModelId, Sum> of_model_;
  Sum of_all_;
};

}  // namespace fairlead
