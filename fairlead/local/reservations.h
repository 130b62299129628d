// Reservations in force: on each node, the jobs of others may have at most the GPUs that are not reserved.
//
// A reservation is a number of GPUs and no particular ones, so nothing changes before its start. While it is in force, the
// tasks of other jobs are limited by a resource that the node offers (model/task_limits.h): its GPUs in service, less the
// reserved ones. So policies share the rest among the others by turns, and give the reserved GPUs to the holder's jobs
// alone. There is such a resource for each set of reservations, because one holder's jobs are the others of another.
//
// If more GPUs of a node are with jobs of others when a reservation comes into force, the latest of these jobs are held, and
// released at the next instant: they are frozen, and wait for their turn.
//
// A pinned job can run on its own GPUs alone. As many GPUs of a holder's pinned jobs as are reserved are for the holder.
// Pinned jobs of others with any of these GPUs are held while the reservation is in force.
//
// A reservation of which no job runs or waits for kUnused is lent: it is out of force until a job of its holder comes.
// Source: ours (docs/decisions/0078-reservations-limit-the-jobs-of-others.md).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/record.h"
#include "fairlead/local/local_jobs.h"
#include "fairlead/local/reservation_book.h"
#include "fairlead/local/start_conditions.h"
#include "fairlead/model/task_limits.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class Reservations {
 public:
  // Chosen: long enough for a user to come late, or to change a script between two jobs.
  static constexpr Duration kUnused = seconds(900);

  // `cluster`: of the machine. `limits`: of the engine's world. REQUIRES: the arguments outlive this.
  Reservations(Io& io, const Tables& tables, const Cluster& cluster, LocalJobs& jobs,
               StartConditions& conditions, Inbox& inbox, TaskLimits& limits)
      : io_(io),
        tables_(tables),
        jobs_(jobs),
        conditions_(conditions),
        inbox_(inbox),
        limits_(limits),
        book_(io, cluster) {}

  // ReservationBook::load(), add() and cancel(). The next update() has the effect.
  Status load();
  Result<ReservationBook::Added> add(const ReservationBook::Asked& asked);
  Result<bool> cancel(std::uint32_t id);
  const std::vector<Reservation>& all() const { return book_.all(); }

  // Called when a job comes, before the batch that has its arrival. Looks the groups of its user up again.
  void on_new_job(const Submission& what) { accounts_.erase({what.uid, what.gid}); }

  enum class State : std::uint8_t { kPlanned, kInForce, kLent };
  State state(const Reservation& one, Time now) const;

  // A record must be applied to the tables before it comes here.
  void on(const Record& record);
  // Brings the limits into the present state, and holds and releases jobs. REQUIRES: all requests of the next batch are
  // known; StartConditions::update() follows. O(jobs here x sets of reservations) while one is in force, otherwise O(1).
  void update(Time now);
  // Returns the time of the next update() that may have something to do without a change before.
  Time deadline() const;
  // Returns whether the limits have changed since the last call.
  bool take_change() { return std::exchange(has_changed_, false); }

 private:
  using Sets = std::uint32_t;  // a set of reservations: bit i for in_force_[i]
  // Returns the number of the resource that a set of reservations limits. REQUIRES: the set is not empty.
  static std::uint32_t resource_of(Sets set) { return set - 1; }
  struct Account {
    std::string user;
    std::vector<std::string> groups;
  };
  const Account& account(const Submission& what);
  bool is_holder(const Reservation& one, const Submission& what);
  bool wants_gpus(JobId job) const;
  void note_use(Time now);
  Sets own(const Submission& what);
  // Returns whether an offer has changed. `is_other`: other reservations are in force than before.
  bool limit_nodes(bool is_other);
  void limit_jobs();
  // A job that runs on a node.
  struct Running {
    JobId job;
    Sets own;
    std::int64_t gpus;  // number of the node's GPUs that it has
  };
  std::vector<Running> running_on(NodeId node) const;
  void hold_pinned();
  std::set<JobId> pinned_in_the_way() const;
  IdVector<NodeId, std::uint64_t> gpus_of_pinned(std::size_t holder) const;
  void hold_excess();
  void hold_excess_of(Sets set, std::int64_t offered, std::vector<Running>& running);
  void release();
  std::int64_t offer(NodeId node, Sets set) const;
  Time time_of(std::int64_t unix_ms) const;

  Io& io_;
  const Tables& tables_;
  LocalJobs& jobs_;
  StartConditions& conditions_;
  Inbox& inbox_;
  TaskLimits& limits_;
  ReservationBook book_;
  bool is_due_ = false;
  bool has_changed_ = false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Account> accounts_;  // by user and group
  // By id, of the reservations that have started: the time since which no job of the holder wants GPUs; never: one does.
  std::map<std::uint32_t, Time> unused_since_;
  std::vector<Reservation> in_force_;
  std::map<NodeId, std::vector<std::int64_t>> offers_;       // as limits_ has them
  std::map<JobId, std::pair<Sets, std::uint32_t>> limited_;  // own(), and the GPUs of a task
  std::set<JobId> known_;                                    // the jobs that limits_ has
  std::set<JobId> held_;                                     // to be released
  std::set<JobId> in_the_way_;                               // pinned jobs that are held
};

}  // namespace fairlead
