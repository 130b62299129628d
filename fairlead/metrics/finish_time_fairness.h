// Finish-time fairness against an equal share of the cluster: a job's life, relative to its life with the GPUs of one of
// as many equal contenders as there were on average (Mahajan et al., Themis, NSDI 2020).
//
// The bounded value leaves out jobs of less than a minute, because the ratio of wait to work is meaningless for a job of
// a second, and takes the overhead of the first start from the life. O(1) a call, except fill().
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/summary.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

class FinishTimeFairness {
 public:
  void reserve(std::size_t jobs) { unfinished_ms_at_submit_.reserve(jobs); }
  // Lets time pass. Called before the first change at its end.
  void advance(Duration elapsed) { unfinished_ms_ += Int128{elapsed.ms} * unfinished_; }
  // Adds a job that is submitted now, and removes one that is done.
  void arrive(JobId job);
  void leave() { --unfinished_; }
  // Adds the value of a job that has finished now. `gpus`: installed in the cluster. Ignores a job whose work is not known.
  void finish(const JobTable& jobs, JobId job, std::int64_t gpus);

  // Fills in the figures of all jobs, and the largest one of each user. REQUIRES: the summary has its users.
  // O(jobs log jobs).
  void fill(Summary& summary) const;

 private:
  // The integral of the number of unfinished jobs, and its value at each job's submission.
  std::int64_t unfinished_ = 0;
  Int128 unfinished_ms_ = 0;
  IdVector<JobId, Int128> unfinished_ms_at_submit_;
  std::int64_t jobs_ = 0;
  double sum_ = 0;
  double max_ = 0;
  std::vector<double> bounded_;  // values of the jobs that it is defined for
  IdVector<UserId, double> bounded_max_;
};

}  // namespace fairlead
