// WorkHistory: how much work finished jobs turned out to have, by user and model.
//
// The estimate for a new job is the mean work of the finished jobs of its user and model; without
// any, of its user, of its model, of all. docs/knowing.md has the measurements by which it was
// chosen. What a job has done does not enter: KnownWork takes the mean for what the job would have
// declared, until the job outlives it.
//
// O(log users x models) per call; memory for each user and model that has finished a job.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <map>
#include <utility>

namespace fairlead {

class WorkHistory {
 public:
  // A job finished that had that much work.
  void add(UserId user, ModelId model, Duration work);
  // Rounded down; zero if no job has finished.
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
