// Admission: the jobs that wait outside of all homes, and the order in which they come in
// (Gandiva_fair; ours).
//
// How many GPUs' worth of jobs a user may have in follows what it is entitled to, as suspended jobs fill
// host memory, so that one who asks for much fills no room that others need; but one job is always let
// in. So that no job waits outside for ever, they rotate:
//   of a user   jobs stand in classes of GPU time attained, each four times the last, as in Tiresias,
//               and come in from the least class. One outside takes the place of one of its user's that
//               is in a higher class.
//   of users    come in the one that is furthest behind first. Where one that has no job in finds no
//               room, a job of the user that is furthest ahead makes room.
// A group with a quota never has more GPUs' worth of jobs in, so its users never hold more. Where it
// has no room for one of them, jobs of its users that are further ahead make room.
//
// A job that finds no room holds up the others, or small jobs would take what little room there is from
// large ones for ever; only what the nodes that are up cannot hold is passed over.
//
// put, remove, consider: O(log users). let_in: a home to be found for each job that comes in, and one
// more. rotate: O(jobs of users that have some outside, and a logarithm; jobs on contended nodes for
// each user that is to have room made).
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
  using PutOut = std::function<void(JobId)>;

  struct Options {
    double jobs_per_gpu_max;  // GPUs' worth of jobs that a user has in, per GPU it is entitled to
    Duration quantum;
  };

  // The others must outlive it.
  Admission(const Options& options, Accounts& accounts, Homes& homes, HomeChoice& choice)
      : options_(options), accounts_(accounts), homes_(homes), choice_(choice), outside_(0) {}

  // Makes room for so many users and jobs.
  void begin(const View& view);
  // The job waits outside, behind all others of its class or before them.
  void put_last(const View& view, JobId job);
  void put_first(const View& view, JobId job);
  // The job is over. REQUIRES: it is outside.
  void remove(const View& view, JobId job);
  // The user's next job outside is tried at the next let_in(): its user has one less in, is entitled
  // to more, or there is more room.
  void consider(UserId user);
  void consider_all();
  // A job of the user is over: what it had is free for others of its group.
  void consider_group(UserId user);

  // Lets jobs in.
  void let_in(const View& view);
  // Makes room for jobs outside that are to come in before some that are in, and lets jobs in.
  // REQUIRES: the accounts are up to date.
  void rotate(const View& view, const PutOut& put_out);
  // Whether a job is outside.
  bool has_jobs() const { return count_ > 0; }

  // REQUIRES: nothing was called before; the accounts are loaded.
  void fields(Archive& archive);

 private:
  static constexpr std::size_t kClasses = 16;
  // A job that is in, and may make room.
  struct Kept {
    std::size_t rank = 0;  // its class, and whether it waits: that first
    JobId job;
  };

  static std::size_t class_of(const View& view, JobId job);
  std::size_t list(const View& view, JobId job) const;
  JobId first(UserId user) const;
  void enter(const View& view, JobId job);
  bool has_room(const View& view, JobId job) const;
  bool may_come_in(const View& view, JobId job);
  void rotate(const View& view, UserId user, const PutOut& put_out);
  void list_kept(const View& view, UserId user);
  std::size_t places_to_give(const View& view, UserId user) const;
  void make_room_in_group(const View& view, UserId user, const PutOut& put_out);
  void list_ahead(UserId user);
  bool make_room(const View& view, const PutOut& put_out);
  JobId furthest_ahead(const View& view, JobId newcomer) const;
  double turns_behind(UserId user) const;

  const Options options_;
  Accounts& accounts_;
  Homes& homes_;
  HomeChoice& choice_;
  JobLists outside_;                       // by user and class
  IdVector<JobId, std::uint8_t> class_;    // of those outside
  IndexedHeap<double, UserId> coming_in_;  // users to let jobs in of, the furthest behind first
  std::int64_t count_ = 0;                 // of outside_

  // Workspace.
  std::vector<Kept> kept_;
  std::vector<UserId> ahead_;  // users, the furthest first
};

}  // namespace fairlead
