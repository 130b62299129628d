// The total waiting time of each job of a run, and the cost of explaining it.
//
// A record costs O(1); about 60 bytes per job. REQUIRES: records that a CheckedJournal passes on.
#pragma once

#include "fairlead/journal/journal.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlead {

class WaitTotals : public RecordSink {
 public:
  void on(const Record& record) override;

  struct Job {
    Duration work;       // time that it takes with its reference gang; 0: not known
    Duration waited;     // time without GPUs, from its submission to its end or the run's end
    Duration longest;    // the longest of these times
    Duration run_time;   // time with GPUs
    bool came = false;   // it arrived and was not rejected
    bool ended = false;  // it ended before the run
    bool is_waiting() const { return since.has_value() && !runs; }

    std::optional<Time> since;  // start of its present wait or run
    bool runs = false;
  };
  // All functions below require that End was passed.
  const IdVector<JobId, Job>& jobs() const { return jobs_; }
  Duration waited() const;  // by all jobs
  // The sum over moments of the jobs that waited.
  std::int64_t job_moments() const { return job_moments_; }

  // Returns at most `most` jobs that arrived, largest `of` first, without those for which it is 0.
  template <class Of>
  std::vector<JobId> largest(std::size_t most, Of of) const;

 private:
  void settle(Job& job);
  void change(JobId id, bool runs);
  void leave(JobId id);

  IdVector<JobId, Job> jobs_;
  Time now_;
  std::int64_t waiting_ = 0;
  std::int64_t job_moments_ = 0;
};

template <class Of>
std::vector<JobId> WaitTotals::largest(std::size_t most, Of of) const {
  std::vector<JobId> found;
  for (JobId job : ids<JobId>(jobs_.size()))
    if (jobs_[job].came && of(jobs_[job]) > 0) found.push_back(job);
  const auto before = [&](JobId a, JobId b) {
    const auto of_a = of(jobs_[a]);
    const auto of_b = of(jobs_[b]);
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size()));
  std::partial_sort(found.begin(), end, found.end(), before);
  found.erase(end, found.end());
  return found;
}

}  // namespace fairlead
