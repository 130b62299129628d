// Admission: the jobs that wait outside of all homes, and the order in which they are admitted
// (Gandiva_fair; ours).
//
// A user's limit, in GPUs' worth of admitted jobs, follows its entitlement, because suspended jobs
// fill host memory. A user with a large demand thus fills no room that others need; but one job is
// always admitted. Jobs rotate, so that none waits outside for ever:
//   within a user   jobs are in classes of GPU time attained, each four times the last, as in
//                   Tiresias, and are admitted from the least class. A job outside takes the
//                   place of a job of its user in a higher class.
//   among users     the user that is furthest behind comes first. If a user without an admitted
//                   job finds no room, a job of the user that is furthest ahead makes room; or
//                   several of the same nodes, if no single place is large enough for a gang.
// The admitted jobs of a group never exceed its quota in GPUs, so neither do its running jobs. If
// the quota has no room for a user, jobs of users in the group that are further ahead make room.
//
// A job that finds no room blocks the others; else small jobs would for ever take from large ones
// the little room there is. Only a job too large for the nodes that are up is passed over.
//
// put, remove, consider: O(log users). let_in: finding a home for each admitted job, and for one
// more. rotate: O(jobs outside); for each user with too little room for its jobs outside, O(its admitted
// jobs, and a logarithm); for each user that needs room made, O(jobs in homes, and a logarithm).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/policy/gandiva_fair/home_choice.h"
#include "fairlead/policy/kit/job_lists.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace fairlead {

class Admission {
 public:
  // Takes a job out of its home, and puts it outside.
  using PutOut = std::function<void(JobId, StopCause)>;

  struct Options {
    double jobs_per_gpu_max;  // limit of a user's admitted jobs, in their GPUs per GPU it is
                              // entitled to
    Duration quantum;
  };

  // The others must outlive it.
  Admission(const Options& options, Accounts& accounts, Homes& homes, HomeChoice& choice)
      : options_(options), accounts_(accounts), homes_(homes), choice_(choice), outside_(0) {}

  // Makes room for that many users and jobs.
  void begin(const View& view);
  // Puts a waiting job outside, behind or before all others of its class.
  void put_last(const View& view, JobId job);
  void put_first(const View& view, JobId job);
  // Removes a job that has ended. REQUIRES: it is outside.
  void remove(const View& view, JobId job);
  // Has the user's next job outside tried at the next let_in(). To be called when its user has one
  // admitted job less, is entitled to more, or there is more room.
  void consider(UserId user);
  void consider_all();
  // To be called when a job of the user has ended: its GPUs are free for others of its group.
  void consider_group(UserId user);

  // Lets jobs in, as many as the budget of the decision has searches for (Plan::examine_again).
  void let_in(const View& view, Plan& plan);
  // Makes room for jobs outside that come before some admitted jobs, and lets jobs in. REQUIRES:
  // the accounts are up to date.
  void rotate(const View& view, Plan& plan, const PutOut& put_out);
  // Returns true if a job is outside.
  bool has_jobs() const { return count_ > 0; }

  // REQUIRES: no function was called before; the accounts are loaded.
  void fields(Archive& archive);

 private:
  static constexpr std::size_t kClasses = 16;
  // An admitted job that may make room.
  struct Kept {
    std::size_t rank = 0;  // its class; a waiting job of a class makes room before a running one
    JobId job;
  };

  // Jobs of a node that together make room there.
  struct Place {
    double behind = 0;  // turns of the user that is least ahead
    GpuTypeId type;
    std::uint32_t gpus = 0;
    std::vector<JobId> jobs;
  };

  static std::size_t class_of(const View& view, JobId job);
  std::size_t list(const View& view, JobId job) const;
  JobId first(UserId user) const;
  void enter(const View& view, JobId job);
  bool has_room(const View& view, JobId job) const;
  bool may_come_in(const View& view, JobId job);
  void rotate(const View& view, UserId user, const PutOut& put_out);
  void list_kept(const View& view, UserId user, std::size_t least);
  std::size_t places_to_give(const View& view, UserId user);
  void make_room_in_group(const View& view, UserId user, const PutOut& put_out);
  void list_ahead(UserId user);
  bool make_room(const View& view, const PutOut& put_out);
  JobId furthest_ahead(const View& view, JobId newcomer) const;
  void list_several_ahead(const View& view, JobId newcomer);
  Place place_on(const View& view, NodeId node, std::uint32_t gpus, double least) const;
  double turns_behind(UserId user) const;

  const Options options_;
  Accounts& accounts_;
  Homes& homes_;
  HomeChoice& choice_;
  JobLists outside_;                       // by user and class
  IdVector<JobId, std::uint8_t> class_;    // classes of the jobs in outside_
  IndexedHeap<double, UserId> coming_in_;  // users to admit jobs of, the furthest behind first
  std::int64_t count_ = 0;                 // number of jobs in outside_

  // Workspace.
  std::vector<Kept> kept_;
  std::vector<UserId> ahead_;  // users, the furthest first
};

}  // namespace fairlead
