// The history of each job as columns, built from the journal's records.
//
// A row per JobId, whatever the order of the records. Each record costs O(1), a place record
// O(slices). About 150 bytes per job and its name.
//
// REQUIRES (of all functions that take a record): records in journal order, consistent as the audit
// checks them.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/journal/journal.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/model/rate_history.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// A text per row, in one buffer.
class TextColumn {
 public:
  void reserve(std::size_t rows) { spans_.reserve(rows); }
  void set(JobId job, std::string_view text);
  std::string_view operator[](JobId job) const {
    return std::string_view(bytes_).substr(spans_[job].offset, spans_[job].size);
  }

 private:
  struct Span {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };
  std::string bytes_;
  IdVector<JobId, Span> spans_;
};

// A text per row, stored once for all rows that have it.
class SharedTextColumn {
 public:
  void resize(std::size_t rows) { rows_.resize(rows); }
  // O(log texts).
  void set(JobId job, std::string_view text);
  // Returns an empty text for a row that was not set.
  std::string_view operator[](JobId job) const {
    return rows_[job] == kNone ? std::string_view() : texts_[rows_[job]];
  }

 private:
  static constexpr std::uint32_t kNone = 0;
  IdVector<JobId, std::uint32_t> rows_;  // in texts_
  std::vector<std::string> texts_{""};
  std::map<std::string, std::uint32_t, std::less<>> row_of_;
};

enum class JobStatus : std::uint8_t {
  kUnseen,   // no record has named it yet
  kPending,  // submitted, not done when the run ended
  kFinished,
  kFailed,       // cancelled jobs included
  kRejected,     // it can never run here
  kUnsubmitted,  // its submission lies after the end of the run
};
// "finished", ...; "pending" for kUnsubmitted, empty for kUnseen.
std::string_view job_status_name(JobStatus status);

// The service of a job in one stretch of a run: from its placement to its stop, or to a change of speed.
struct Service {
  GpuTime allocated;   // GPU time with overhead
  GpuTime busy;        // GPU time after the overhead
  double lost_gpu_ms;  // part of `busy` lost to communication
  Duration worked;     // the last part, after the overhead
  Work done;           // in `worked`
  Work undone;         // lost work, also from before this stretch
};

// Returns the time in which work is done at speed 1, in milliseconds.
inline double reference_ms(Work work) {
  return static_cast<double>(work.fixed) / static_cast<double>(Rate::kOne);
}

class JobTable {
 public:
  void reserve(std::size_t jobs);
  std::size_t size() const { return status.size(); }

  // Adds a job that was or would have been submitted at `t`.
  void arrive(const JobSpec& asked, Time t, JobStatus as);
  void reject(const record::Rejected& rejected, Time t);
  // Gives the job place.gang from `t` on, beside the earlier copies. `types`: the GPU types of the gang's nodes. If the
  // world reports the start, the overhead lasts until then.
  void place(const record::Place& place, Time t, TypeMask types);
  // Starts the work of the job's gang at `t`, as reported by the world. REQUIRES: it has GPUs.
  void start_work(JobId job, Time t);
  // Settles the job's run up to `t` and continues it at `rate`. REQUIRES: it has GPUs.
  Service change_rate(JobId job, Time t, Rate rate);
  // Ends the job's run at `t` and takes back the work of its last `lost`. REQUIRES: it has GPUs.
  Service end_run(JobId job, Time t, Duration lost = {});
  // Ends the job: it finished or failed. REQUIRES: it was submitted and has no GPUs.
  void leave(JobId job, Time t, JobStatus as);

  // Before the end of the run, or rejected then.
  bool was_submitted(JobId job) const {
    return status[job] != JobStatus::kUnseen && status[job] != JobStatus::kUnsubmitted;
  }
  bool has_gpus(JobId job) const { return runs_[job].gpus > 0; }
  std::uint32_t allocated_gpus(JobId job) const { return runs_[job].gpus; }
  // Returns the work done so far, at most all of it; all of it once the job has finished.
  Work done(JobId job) const;
  // "K80+V100": the types the job ran on, in the cluster's order.
  std::string gpu_types(JobId job, const std::vector<std::string>& type_names) const;
  // Time without GPUs since its submission. REQUIRES: finished or failed.
  Duration queued(JobId job) const {
    FL_DCHECK(finish[job] != Time::never(), "job {} is not done", job.row());
    return finish[job] - submit[job] - run_time[job];
  }
  const CountByReason& rejected_by_reason() const { return reasons_; }

  TextColumn names;
  SharedTextColumn models;  // empty: the trace names none
  IdVector<JobId, JobStatus> status;
  IdVector<JobId, UserId> user;
  IdVector<JobId, std::uint32_t> gpus;  // asked
  IdVector<JobId, Duration> work;       // at speed 1
  IdVector<JobId, Time> submit;
  IdVector<JobId, Time> start;   // first placement; Time::never() before
  IdVector<JobId, Time> finish;  // or failure; Time::never() before
  // The overhead of the first run, as far as that lasted. Valid once the run has ended.
  IdVector<JobId, Duration> first_overhead;
  IdVector<JobId, Duration> run_time;
  IdVector<JobId, std::uint32_t> preemptions;
  IdVector<JobId, std::uint32_t> migrations;
  // GPU time lost to communication, up to the last end of a run or change of its speed.
  IdVector<JobId, double> lost_gpu_ms;

 private:
  struct JobRun {
    Time since;
    Time works_from;  // the end of the overhead or of the settled time; never: not known yet
    Rate rate;
    double unhindered = 0;   // the speed that communication leaves `rate` of; 0: not known
    std::uint32_t gpus = 0;  // 0: it has none

    // A measured rate may be above the unhindered one; the loss is 0 then.
    double locality() const {
      return unhindered > 0 ? std::min(1.0, rate.value() / unhindered) : 1;
    }
  };

  void grow_to(std::size_t jobs);
  bool is_first_run(JobId job) const { return runs_[job].since == start[job]; }

  IdVector<JobId, Work> done_;
  IdVector<JobId, JobRun> runs_;
  RateHistory rates_;  // rates of running jobs
  IdVector<JobId, TypeMask> types_;
  CountByReason reasons_;
};

}  // namespace fairlead
