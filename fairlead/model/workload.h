// A workload: the users and jobs that a trace describes, and an account of every row read.
//
// Readers (trace/) fill it through WorkloadBuilder; the engine and the simulated backend consume
// it.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/assumptions.h"
#include "fairlead/model/job_row.h"
#include "fairlead/model/jobs.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The jobs' own ids, in one buffer: a million ids cost their bytes and 16 bytes each.
class JobNames {
 public:
  JobId push_back(std::string_view name);
  // Rows may come in any order; a row without a name has an empty one.
  // REQUIRES: called once for a row.
  void set(JobId job, std::string_view name);
  std::string_view operator[](JobId job) const;
  std::size_t size() const { return spans_.size(); }
  void reserve(std::size_t jobs) { spans_.reserve(jobs); }

 private:
  struct Span {
    std::uint64_t begin = 0;
    std::uint32_t length = 0;
  };
  std::string bytes_;
  IdVector<JobId, Span> spans_;
};

// Counts of the rows of a trace. Invariant: rows_read = jobs kept + all of rows_rejected.
struct RowCounts {
  std::int64_t rows_read = 0;
  std::map<std::string, std::int64_t, std::less<>> rows_rejected;  // by reason
  std::int64_t rows_skipped = 0;  // rejected rows that are not meant to be jobs
  // Repaired and kept, by reason: "duplicate id renamed".
  std::map<std::string, std::int64_t, std::less<>> rows_repaired;
  std::string first_unusable;  // "FILE:LINE:COLUMN: REASON: VALUE"; empty: all were usable
  std::int64_t rejected() const;
  // Rows that were meant to be jobs, and how many of them were left out.
  std::int64_t meant() const { return rows_read - rows_skipped; }
  std::int64_t unusable() const { return rejected() - rows_skipped; }
};

// The levels of the network that a job names; empty: none.
struct LevelNames {
  std::string required;
  std::string preferred;
};

// A word of each job, of few different ones.
struct JobLabels {
  IdVector<LabelId, std::string> names;
  IdVector<JobId, LabelId> of_job;  // ends with the last job that has one

  // Returns none for a job without a label.
  LabelId of(JobId job) const { return of_job.has(job) ? of_job[job] : LabelId(); }
  // Returns an empty text for a job without a label.
  std::string_view name(JobId job) const {
    const LabelId its = of(job);
    return its.is_none() ? std::string_view() : names[its];
  }
};

struct Workload {
  std::string name;  // name of the trace, for reports
  Users users;
  IdVector<ModelId, std::string> models;
  Jobs jobs;  // the asked columns
  JobNames names;
  // Running time on the reference GPU type with the gang asked for, at the best tier: at least 1
  // ms.
  IdVector<JobId, Duration> durations;
  // The GPU type the duration was measured on; empty: the run's reference type.
  IdVector<JobId, std::string> reference_types;
  // The GPU types that a job may run on, joined by "+"; jobs without a limit are not listed.
  std::map<JobId, std::string> runs_on;
  // CPU and memory of the gang that each job asks for. Ends with the last job that states some. Read asks_of().
  IdVector<JobId, CpuMemory> asks;
  // QOS and account of each job in the scheduler of a log. Limits are about them (model/job_limits.h).
  JobLabels qos;
  JobLabels accounts;
  // The levels of jobs that ask for any; jobs.closeness has them once the cluster is known (levels.h).
  std::map<JobId, LevelNames> levels;
  // The trace's word for a job's end: 1 + its row in `state_words`; 0: unknown. Empty if no job
  // has one.
  std::vector<std::string> state_words;
  IdVector<JobId, std::uint8_t> states;
  RowCounts rows;
  TraceReading reading;

  CpuMemory asks_of(JobId job) const { return asks.has(job) ? asks[job] : CpuMemory(); }
};

// Fills in jobs.closeness from the levels that the trace names. Errors: a level that the cluster does not have.
// O(jobs that name one x levels).
Status resolve_levels(const Cluster& cluster, Workload& workload);

// Returns the row that adds the job again. Its texts belong to `workload`. O(log jobs).
JobRow row_of(const Workload& workload, JobId job);

// A position in a file, for errors. Line and column count from 1; 0 where there is none.
struct Where {
  std::string_view file;
  std::int64_t line = 0;
  std::int64_t column = 0;

  Where(std::string_view in_file, std::int64_t at_line = 0, std::int64_t at_column = 0)
      : file(in_file), line(at_line), column(at_column) {}
  Where(const char* in_file) : file(in_file) {}
  // "file:line:column", as far as known.
  std::string text() const;
};

// The rows of a column of names by a hash of the name: an open-addressing table of row numbers, so
// that a million names cost 16 MB beside the names themselves. find, insert: O(1) expected.
class NameIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // The row inserted with `hash` for which equals(row) holds, or kNone.
  template <class Equals>
  std::uint32_t find(std::uint32_t hash, Equals equals) const {
    if (slots_.empty()) return kNone;
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].row != kNone; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && equals(slots_[at].row)) return slots_[at].row;
    }
    return kNone;
  }
  // REQUIRES: the row's name is not in the index.
  void insert(std::uint32_t hash, std::uint32_t row);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t row = kNone;
  };
  void put(Slot slot);

  std::vector<Slot> slots_;  // a power of two of them, at most half of them used
  std::size_t used_ = 0;
};

// 32 bits of a hash of the name, for NameIndex.
std::uint32_t hash_of(std::string_view name);

// The row of `name` in a column that `index` indexes, or none.
template <class IdType>
IdType find(const NameIndex& index, const IdVector<IdType, std::string>& names,
            std::string_view name) {
  const auto equals = [&](std::uint32_t row) { return names[IdType(row)] == name; };
  const std::uint32_t row = index.find(hash_of(name), equals);
  return row == NameIndex::kNone ? IdType() : IdType(row);
}

// The row of `name` in a column that `index` indexes; a name that is new gets the next row.
template <class IdType>
IdType find_or_add(NameIndex& index, IdVector<IdType, std::string>& names, std::string_view name) {
  const std::uint32_t hash = hash_of(name);
  const auto equals = [&](std::uint32_t row) { return names[IdType(row)] == name; };
  if (const std::uint32_t row = index.find(hash, equals); row != NameIndex::kNone) {
    return IdType(row);
  }
  const IdType id = names.push_back(std::string(name));
  index.insert(hash, id.row());
  return id;
}

// Collects rows into a Workload. Checks every row for errors that any format can have; a reader
// reports errors of its own format with reject(). O(1) expected per row.
class WorkloadBuilder {
 public:
  WorkloadBuilder(std::string name, Reading reading, Tasks tasks = Tasks::kOfOneGpu);

  // Adds one row, which stands at `where`. Bad rows, in strict reading, are errors that name the
  // column of the bad field and its value; in lenient reading they are counted. Bad: an empty id;
  // gpus < 1 or > kJobGpusMax; a negative time or one above kMsMax; a duration below 1 ms; gpus_min
  // > gpus or gpus_max < gpus; task_gpus that does not divide all three; CPUs or memory out of range; a time limit or a priority out of
  // range; a start before the submission (lenient reading drops the start); tickets or a group that differ
  // from the user's earlier ones; tickets or a quota that differ from the group's; an id that occurred
  // before (lenient reading renames it id#2, id#3, ...).
  Status add(const JobRow& row, Where where);
  // Counts a row that its reader could not use. An error in strict reading.
  Status reject(std::string_view reason, Where where, std::string_view value);
  // Counts a row that is not meant to be a job (a CPU-only row, a sub-step).
  void skip(std::string_view reason);
  Reading reading() const { return reading_; }
  // Conditions on columns: a reader that has columns leaves out the rows that do not keep them.
  void set_conditions(std::vector<RowCondition> conditions) { conditions_ = std::move(conditions); }
  const std::vector<RowCondition>& conditions() const { return conditions_; }
  // Returns whether a reader of a foreign format is to fill in task_gpus.
  bool with_tasks() const { return tasks_ == Tasks::kAsInTrace; }

  // Sets the description of the times of the trace, if they are calendar times: "in UTC".
  void say_times(std::string_view times) { workload_.reading.times = times; }
  // "gpus=NGPUs": what the columns of a table of any header were taken for.
  void say_columns(std::vector<std::string> columns) {
    workload_.reading.columns_read = std::move(columns);
  }
  // Columns of the trace that its reader has no use for.
  void ignore_columns(std::vector<std::string> names) {
    workload_.reading.columns_ignored = std::move(names);
  }

  // The earliest arrival; never without a job. O(jobs).
  Time first_arrival() const;
  // Moves all arrivals so that the earliest is at time 0, for traces with calendar times, and stores
  // that time.
  void start_at_zero();
  // REQUIRES: called once, last.
  Workload finish();

 private:
  struct Fault {
    std::string reason;  // empty: none
    std::int64_t column = 0;
    std::string value{};
  };
  Fault fault_of(const JobRow& row) const;
  Fault logged_fault(const JobRow& row) const;
  static Fault extras_fault(const JobRow& row);
  Fault user_fault(const JobRow& row) const;
  Fault group_fault(const JobRow& row) const;
  void leave_out(std::string_view reason);
  void append_state(JobId job, std::string_view state);
  Logged logged_of(const JobRow& row);
  PartitionId partition_of(const JobRow& row);
  bool has_id(std::string_view id) const;
  std::string unused_id(std::string_view id);
  void append(const JobRow& row, std::string_view id);
  UserId user_of(const JobRow& row);
  GroupId group_of(const JobRow& row);

  Reading reading_;
  Tasks tasks_;
  std::vector<RowCondition> conditions_;
  Workload workload_;
  NameIndex ids_;
  NameIndex users_;
  NameIndex models_;
  NameIndex partitions_;
  NameIndex qos_;
  NameIndex accounts_;
  NameIndex groups_;                        // whose tickets are 0 until they are named
  IdVector<UserId, std::int64_t> tickets_;  // 0: not named yet
  // The number of occurrences of each repeated id.
  std::map<std::string, std::int64_t, std::less<>> repeats_;
};

}  // namespace fairlead
