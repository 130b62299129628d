// The tables: the whole known state of the world, the fold of the journal's records.
//
//   tables = fold(Tables::apply, Tables(cluster), records)
//
// Nothing else changes the tables, so the journal of an interrupted run gives the run's tables again. The engine
// applies each record when it writes it. apply: O(slices) for a record with a gang, else O(1), amortised;
// GpusDown and Cordoned: O(1).
//
// REQUIRES: one run can have written all the records. The engine writes only such records; records of a file go
// through CheckedJournal first.
#pragma once

#include "fairlead/base/overloaded.h"
#include "fairlead/journal/record.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead {

// A dense set of jobs with O(1) insert and erase. Its order has no meaning, but equal calls give an equal order.
class JobSet {
 public:
  void insert(JobId job);
  void erase(JobId job);
  std::span<const JobId> members() const { return members_; }
  void reserve(std::size_t jobs);

 private:
  std::vector<JobId> members_;
  IdVector<JobId, std::uint32_t> slots_;
};

struct Tables {
  // Starts with the nodes of `cluster`; the records name these nodes again, and may add more.
  explicit Tables(Cluster cluster);
  Tables(const Tables&) = delete;  // policies and plans refer to its parts
  Tables& operator=(const Tables&) = delete;

  void apply(const Record& record) {
    std::visit([&](const auto& what) { apply(record.t, what); }, record.what);
  }
  template <class What>
  void apply(Time t, const What& what) {
    now = t;
    on(what);
  }
  // No policy knows of jobs that need no GPU.
  bool needs_gpus(JobId job) const { return jobs.gpus[job] > 0; }
  // Returns the GPU time of any job up to `t`. A job that needs no GPU counts as if it ran on one.
  GpuTime ran(JobId job, Time t) const {
    const bool is_without = !needs_gpus(job) && jobs.state[job] == JobState::kRunning;
    return jobs.attained_settled[job] +
           occupancy(t - jobs.run_since[job], is_without ? 1 : jobs.allocated_gpus[job]);
  }
  // Returns none if no job that came is of that model.
  ModelId model_named(std::string_view name) const;
  // Returns the row of the model, which is added if no job of it has come.
  ModelId add_model(std::string_view name);
  // Reserves memory for that many jobs.
  void reserve(std::size_t jobs);

  Time now;  // time of the last record
  Cluster cluster;
  Users users;
  IdVector<ModelId, std::string> models;
  Jobs jobs;
  JobNames names;
  // The jobs that need GPUs, which policies see.
  JobSet waiting;
  JobSet running;
  // The jobs that need none. The engine starts them as soon as they wait, so none waits between two steps.
  JobSet waiting_without_gpus;
  JobSet running_without_gpus;
  JobCounts counts;       // counts of ended jobs; pending jobs are not counted yet
  std::int64_t cuts = 0;  // decisions that ended because their budget was used up

  struct NodeState {
    std::uint64_t has = 0;   // bit i: GPU i exists
    std::uint64_t up = 0;    // subset of `has`: GPUs that are not down
    std::uint64_t free = 0;  // subset of `up`: GPUs without a job
    std::uint64_t closed =
        0;  // GPUs that were idle when the node was cordoned, or at any time since
    std::uint64_t usable() const { return up & ~closed; }
  };
  IdVector<NodeId, NodeState> nodes;
  std::set<NodeId> cordoned;

  // The jobs in state kHeld and the time of their release; Time::never() for a user's hold.
  std::map<JobId, Time> held_until;
  // The number of consecutive failed starts, for jobs with at least one.
  std::map<JobId, std::uint32_t> failed_starts;
  // Per node: the jobs with a failed start there since the node's last successful start.
  std::map<NodeId, std::set<JobId>> failed_on;
  // Ended runs of jobs whose GPUs are not free yet.
  struct Stopping {
    std::vector<std::pair<NodeId, std::uint64_t>> gpus;
    bool has_failed = false;
  };
  std::map<std::pair<JobId, RunId>, Stopping> stopping;

 private:
  void on(const record::Run& run);
  void on(const record::Group& group);
  void on(const record::User& user);
  void on(const record::Node& node);
  void on(const record::Arrived& arrived);
  void on(const record::Rejected& rejected);
  void on(const record::Finished& finished);
  void on(const record::Failed& failed);
  void on(const record::Cancelled& cancelled);
  void on(const record::Evicted& evicted);
  void on(const record::GpusDown& down);
  void on(const record::GpusUp& up);
  void on(const record::Cordoned& what);
  void on(const record::Closed& closed);
  void on(const record::Uncordoned& uncordoned);
  void on(const record::Stop& stop);
  void on(const record::Stopped& stopped);
  void on(const record::StopFailed& failed);
  void on(const record::Started& started);
  void on(const record::StartFailed& failed);
  void on(const record::Place& place);
  void on(const record::Held& held);
  void on(const record::Released& released);
  void on(const record::Tickets& tickets);
  void on(const record::Carried& carried);
  void on(const record::Pinned& pinned);
  // Records that change no table, except a note of a cut.
  void on(const OneOf<record::Speed, Note, record::End, record::Unsubmitted, record::Ignored,
                      record::Skipped, record::Reported, record::Snapshot, record::Forgotten,
                      record::Profiled, record::Charged> auto& what) {
    if constexpr (std::is_same_v<decltype(what), const Note&>) {
      cuts += std::holds_alternative<note::Cut>(what) ? 1 : 0;
    }
  }

  void add_job(const JobSpec& asked);
  JobSet& waiting_with(JobId job) { return needs_gpus(job) ? waiting : waiting_without_gpus; }
  JobSet& running_with(JobId job) { return needs_gpus(job) ? running : running_without_gpus; }
  // Ends the job's current run: returns its GPUs to their nodes and settles attained service. The job then waits.
  void end_run(JobId job);
  // Forgets the last gang of a job that does not run: the hosts lost its state, so its next placement is a start.
  void forget_gang(JobId job);
  void leave(JobId job, JobState state);

  NameIndex model_rows_;
  NameIndex partition_rows_;
};

// Returns the GPU time of any job up to `t`; zero if it needs no GPU.
inline GpuTime gpu_time(const Tables& tables, JobId job, Time t) {
  return tables.needs_gpus(job) ? tables.jobs.attained(job, t) : GpuTime{};
}

}  // namespace fairlead
