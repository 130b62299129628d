// Several ordered lists of jobs, each job in at most one of them: the queues of a policy.
//
// push_back, erase, contains: O(1). Two links per job, so moving jobs around allocates nothing once
// room is reserved.
#pragma once

#include "fairlead/base/ids.h"

#include <vector>

namespace fairlead {

class JobLists {
 public:
  explicit JobLists(std::size_t lists) : ends_(lists) {}

  // Adds empty lists up to lists-1.
  void grow(std::size_t lists) {
    if (ends_.size() < lists) ends_.resize(lists);
  }
  // Makes room for jobs 0..jobs-1.
  void reserve(std::size_t jobs) {
    if (links_.size() < jobs) links_.resize(jobs);
  }
  bool contains(JobId job) const { return links_.has(job) && links_[job].is_linked; }
  // REQUIRES: the job is in no list.
  void push_back(std::size_t list, JobId job) {
    FL_CHECK(!contains(job), "job {} is in a list already", job.row());
    reserve(job.row() + std::size_t{1});
    Ends& ends = ends_[list];
    links_[job] = {.before = ends.last, .after = JobId::none(), .is_linked = true};
    (ends.last.is_none() ? ends.first : links_[ends.last].after) = job;
    ends.last = job;
  }
  // REQUIRES: the job is in no list.
  void push_front(std::size_t list, JobId job) {
    FL_CHECK(!contains(job), "job {} is in a list already", job.row());
    reserve(job.row() + std::size_t{1});
    Ends& ends = ends_[list];
    links_[job] = {.before = JobId::none(), .after = ends.first, .is_linked = true};
    (ends.first.is_none() ? ends.last : links_[ends.first].before) = job;
    ends.first = job;
  }
  // REQUIRES: the job is in that list.
  void erase(std::size_t list, JobId job) {
    FL_CHECK(contains(job), "job {} is in no list", job.row());
    const Links gone = links_[job];
    (gone.before.is_none() ? ends_[list].first : links_[gone.before].after) = gone.after;
    (gone.after.is_none() ? ends_[list].last : links_[gone.after].before) = gone.before;
    links_[job].is_linked = false;
  }
  void clear() {
    for (std::size_t list = 0; list < ends_.size(); ++list) {
      while (!first(list).is_none()) erase(list, first(list));
    }
  }

  // O(jobs of the list).
  std::vector<JobId> jobs(std::size_t list) const {
    std::vector<JobId> jobs;
    for (JobId job = first(list); !job.is_none(); job = after(job)) jobs.push_back(job);
    return jobs;
  }
  // None at the ends.
  JobId first(std::size_t list) const { return ends_[list].first; }
  JobId last(std::size_t list) const { return ends_[list].last; }
  // REQUIRES: contains(job).
  JobId after(JobId job) const { return links_[job].after; }
  JobId before(JobId job) const { return links_[job].before; }

 private:
  struct Ends {
    JobId first;
    JobId last;
  };
  struct Links {
    JobId before;
    JobId after;
    bool is_linked = false;
  };

  std::vector<Ends> ends_;
  IdVector<JobId, Links> links_;
};

}  // namespace fairlead
