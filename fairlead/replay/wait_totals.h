// How long each job of a run waited in all, and what it would cost to say why.
//
// A record costs O(1); about 60 bytes per job. REQUIRES: what a CheckedJournal lets through.
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
    Duration work;       // with its reference gang; 0: not said
    Duration waited;     // without GPUs, from its submission to its end or that of the run
    Duration longest;    // of these times
    Duration held;       // with GPUs
    bool came = false;   // and was not rejected
    bool ended = false;  // before the run did
    bool is_waiting() const { return since.has_value() && !holds; }

    std::optional<Time> since;  // it waits, or holds GPUs
    bool holds = false;
  };
  // REQUIRES of all below: End was passed.
  const IdVector<JobId, Job>& jobs() const { return jobs_; }
  Duration waited() const;  // by all jobs
  // The sum over moments of the jobs that waited.
  std::int64_t job_moments() const { return job_moments_; }

  // The jobs that came, those first of which `of` is larger, at most `most`, none of which it is 0.
  template <class Of>
  std::vector<JobId> largest(std::size_t most, Of of) const;

 private:
  void settle(Job& job);
  void change(JobId id, bool holds);
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
