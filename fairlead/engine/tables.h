// The tables: everything that is known of the world, as the fold of the journal's records.
//
//   tables = fold(Tables::apply, Tables(cluster), records)
//
// Nothing else changes them, so the tables of a run that was interrupted are those of its journal.
// The engine applies each record as it writes it. apply: O(slices) of a gang, else O(1), amortised;
// GpusDown and Cordoned O(1).
//
// REQUIRES of all records: one run can have written them. The engine only writes such; what comes
// from a file goes through CheckedJournal first.
#pragma once

#include "fairlead/journal/record.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// A dense set of jobs with O(1) insert and erase; its order means nothing, but is the same for the
// same calls.
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
  // The nodes of `cluster` are there from the beginning; the records name them again, and may add
  // more.
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
  // Room for that many jobs without another allocation.
  void reserve(std::size_t jobs);

  Time now;  // of the last record
  Cluster cluster;
  Users users;
  IdVector<ModelId, std::string> models;
  Jobs jobs;
  JobNames names;
  JobSet waiting;
  JobSet running;
  JobCounts counts;  // of jobs that are done; pending ones are not counted yet

  struct NodeState {
    std::uint64_t has = 0;     // bit i: it has a GPU i
    std::uint64_t up = 0;      // of these, those that are not gone
    std::uint64_t free = 0;    // of these, those that no job holds
    std::uint64_t closed = 0;  // idle when it was cordoned, or since
    std::uint64_t usable() const { return up & ~closed; }
  };
  IdVector<NodeId, NodeState> nodes;
  std::set<NodeId> cordoned;

  // Jobs that are kHeld, and until when: Time::never() if their user holds them.
  std::map<JobId, Time> held_until;
  // Starts in a row that failed, of jobs that had such.
  std::map<JobId, std::uint32_t> failed_starts;
  // Of each node, the jobs whose starts on it have failed since one succeeded.
  std::map<NodeId, std::set<JobId>> failed_on;
  // Holds that are over, whose GPUs are not free yet.
  struct Stopping {
    std::vector<std::pair<NodeId, std::uint64_t>> gpus;
    bool has_failed = false;
  };
  std::map<std::pair<JobId, HoldId>, Stopping> stopping;

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
  // What follows changes no table.
  void on(const record::Speed&) {}
  void on(const Note&) {}
  void on(const record::End&) {}
  void on(const record::Unsubmitted&) {}
  void on(const record::Ignored&) {}
  void on(const record::Skipped&) {}
  void on(const record::Reported&) {}
  void on(const record::Snapshot&) {}

  void add_job(const JobSpec& asked);
  // Ends the current hold: GPUs back to their nodes, attained service settled; the job waits.
  void end_hold(JobId job);
  // What the hosts keep of a job that does not run is gone: it starts anew, wherever that is.
  void forget_gang(JobId job);
  void leave(JobId job, JobState state);

  NameIndex model_rows_;
  NameIndex partition_rows_;
};

}  // namespace fairlead
