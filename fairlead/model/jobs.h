// Users and jobs as columns: their requests, and the service they got so far.
//
// The columns grow as users and jobs are announced, and never shrink. The engine writes them, by
// folding the records of its journal (engine/tables.h); policies read them through View. A job of a
// trace has its position in the input as its row, so ordering by JobId is ordering by input.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/gang_pool.h"
#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

struct JobSpec;
class TaskLimits;  // model/task_limits.h

// Groups of users. A group's tickets compete with the tickets of users without a group; its users
// share its part by their own tickets.
struct Groups {
  IdVector<GroupId, std::string> names;
  IdVector<GroupId, std::int64_t> tickets;  // at least 1
  IdVector<GroupId, std::int64_t> quota;    // GPUs that its users may have together; 0: any number
  std::size_t size() const { return names.size(); }
  bool empty() const { return names.empty(); }
};

struct Users {
  IdVector<UserId, std::string> names;
  IdVector<UserId, std::int64_t> tickets;  // at least 1
  IdVector<UserId, GroupId> group;         // none, or no row: it has none. Read group_of.
  Groups groups;
  std::size_t size() const { return names.size(); }
  // None: the user counts with its own tickets beside the groups, and has no quota.
  GroupId group_of(UserId user) const { return group.has(user) ? group[user] : GroupId(); }
  // 0: it has none.
  std::int64_t quota_of(UserId user) const {
    const GroupId its = group_of(user);
    return its.is_none() ? 0 : groups.quota[its];
  }
};

// Jobs in a state between kUnsubmitted and kFinished are here.
enum class JobState : std::uint8_t {
  kUnsubmitted,
  kWaiting,  // submitted, has no GPU
  kRunning,  // has a gang, which may still be starting
  kHeld,     // here, but not to be placed: its user holds it, or a failed start waits for its retry
  kFinished,  // its work is done
  kFailed,    // it ended by itself without finishing
  kCancelled,
  kRejected,  // it can never run here
};

std::string_view state_name(JobState state);  // "finished"

struct Jobs {
  // Asked.
  IdVector<JobId, UserId> user;
  IdVector<JobId, ModelId> model;           // none: the trace names no model
  IdVector<JobId, std::uint32_t> gpus;      // the gang it asks for
  IdVector<JobId, std::uint32_t> gpus_min;  // the smallest gang it can run with
  IdVector<JobId, std::uint32_t> gpus_max;  // the largest
  // GPUs of each task, all on one node. A gang has a multiple of it on each of its nodes.
  IdVector<JobId, std::uint32_t> task_gpus;
  IdVector<JobId, Closeness> closeness;  // closeness of the GPUs of a gang, or of a copy
  IdVector<JobId, Time> arrival;
  IdVector<JobId, TypeMask> types;  // GPU types on which its model can run
  // Columns that few jobs need: each ends with the last job that has a value. Read extras_of, logged_of and
  // partition_of.
  IdVector<JobId, JobExtras> extras;
  IdVector<JobId, Logged> logged;
  IdVector<JobId, PartitionId> partition;
  IdVector<PartitionId, std::string> partitions;
  // 1: the job loses its work if it leaves its GPUs. Ends with the last such job. Read is_pinned.
  IdVector<JobId, std::uint8_t> cannot_move;
  // The world's limits on tasks by resources other than GPUs, which are in no journal; null: there are none.
  const TaskLimits* limits = nullptr;

  // Served; read attained() rather than the first two.
  IdVector<JobId, GpuTime> attained_settled;      // up to run_since
  IdVector<JobId, Time> run_since;                // start of the current run; only while kRunning
  IdVector<JobId, std::uint32_t> allocated_gpus;  // 0 unless kRunning
  IdVector<JobId, JobState> state;
  IdVector<JobId, RunId> run;  // the number of the current run or, without one, of the last
  // The end of the current run's overhead; never: its start is not confirmed yet. While the job has no
  // run, the value of the last run.
  IdVector<JobId, Time> works_from;
  // The present gang or, while waiting, the last one; empty after an eviction, which loses the state
  // kept on the hosts.
  IdVector<JobId, GangRef> last;
  GangPool gangs;

  std::size_t size() const { return user.size(); }
  // GPU time served up to `now`.
  GpuTime attained(JobId job, Time now) const {
    FL_DCHECK(now >= run_since[job] || allocated_gpus[job] == 0);
    return attained_settled[job] + occupancy(now - run_since[job], allocated_gpus[job]);
  }
  // Empty before the first start and after an eviction. Valid until the next placement.
  Gang last_gang(JobId job) const { return gangs.gang(last[job]); }

  bool keeps_no_work(JobId job) const { return cannot_move.has(job) && cannot_move[job] != 0; }
  // Returns whether the job must have the GPUs of its last run. False for a job that never ran, or that lost
  // its state with its hosts.
  bool is_pinned(JobId job) const { return keeps_no_work(job) && !last[job].empty(); }
  // Returns the estimated time of training that a move now would lose: since the last checkpoint of a job that does
  // not save when it must move, otherwise none. O(1).
  Duration lost_by_move(JobId job, Time now) const {
    const std::int64_t every_s = extras_of(job).checkpoint_every_s;
    if (every_s == 0) return {};
    const Int128 ran_ms = attained(job, now).gpu_ms / gpus[job];
    return {static_cast<std::int64_t>(ran_ms % (every_s * 1000))};  // NOLINT(*-widening-*)
  }
  JobExtras extras_of(JobId job) const { return extras.has(job) ? extras[job] : JobExtras(); }
  Logged logged_of(JobId job) const { return logged.has(job) ? logged[job] : Logged(); }
  // Returns none if unknown.
  PartitionId partition_of(JobId job) const {
    return partition.has(job) ? partition[job] : PartitionId();
  }
  // Returns an empty text if unknown.
  std::string_view partition_name(JobId job) const {
    const PartitionId its = partition_of(job);
    return its.is_none() ? std::string_view() : partitions[its];
  }
  // Returns the description of a job without name, model and work, which have no columns. The partition is
  // valid until the next one is added.
  JobSpec asked(JobId job) const;

  // Returns whether that job was announced.
  bool has(JobId job) const { return user.has(job) && !user[job].is_none(); }
  // It came, and is not done: it waits, runs or is held.
  bool is_here(JobId job) const {
    return has(job) && state[job] > JobState::kUnsubmitted && state[job] < JobState::kFinished;
  }
  // True while its gang is being started: nothing is known to have been done yet.
  bool is_starting(JobId job) const {
    return state[job] == JobState::kRunning && works_from[job] == Time::never();
  }

  // The rows of the names of a job; none: the job has no such name.
  struct Named {
    ModelId model{};
    PartitionId partition{};
  };
  // Sets the asked columns, but not the served ones. Adds empty rows before the job if they are missing.
  // REQUIRES: !has(spec.job). O(1) amortised.
  void set_asked(const JobSpec& spec, Named named);
  // Adds a row to all columns, and empty ones before it if they are missing. The job is kUnsubmitted until
  // it arrives. REQUIRES: !has(spec.job). O(1) amortised.
  void add(const JobSpec& spec, Named named);
  // Room for that many jobs without another allocation.
  void reserve(std::size_t jobs);
};

}  // namespace fairlead
