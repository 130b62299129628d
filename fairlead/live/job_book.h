// Facts per job and user for the API that the engine does not keep: times, reasons, restarts.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/explain/present_waits.h"
#include "fairlead/journal/journal.h"
#include "fairlead/live/backend_facts.h"
#include "fairlead/live/dues.h"
#include "fairlead/live/usage_book.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class JobBook : public RecordSink {
 public:
  // A record must be applied to `tables` before it comes here. REQUIRES: the arguments outlive this.
  JobBook(const Tables& tables, const BackendFacts& backend)
      : tables_(tables), backend_(backend), dues_(tables), usage_(tables) {}
  void on(const Record& record) override;

  struct Entry {
    Time done = Time::never();
    Time since = Time::never();  // start of its present state
    Duration declared;           // duration by its user; zero: none given
    std::uint32_t tasks = 0;     // number of placements that started its processes
    std::uint32_t moves = 0;     // those on other GPUs than its processes had
    std::uint32_t failed_starts = 0;
    std::vector<RunId>
        lost{};          // the runs that ended with the loss of its processes, or with a retry
    std::string reason;  // reason of a failure, a rejection or a failed start

    std::uint32_t restarts() const { return tasks == 0 ? 0 : tasks - 1; }
  };
  const Entry& of(JobId job) const { return jobs_[job]; }
  const PresentWaits& waits() const { return waits_; }
  // Returns the GPU time of the user's finished jobs, and outside of its jobs.
  GpuTime served(UserId user) const { return served_.has(user) ? served_[user] : GpuTime(); }
  std::int64_t cancelled() const { return cancelled_; }
  const Dues& dues() const { return dues_; }
  const UsageBook& usage() const { return usage_; }

 private:
  // The GPUs of a job's last task, for all of its copies, and its state before that placement.
  struct Placed {
    std::vector<std::pair<NodeId, std::uint64_t>> gpus, before;
    std::uint32_t tasks_before = 0, moves_before = 0;
    bool has_started = false;
  };
  void place(const record::Place& what);
  void end(JobId job, std::string_view reason);
  Entry& entry(JobId job) { return jobs_.grow_to(job); }

  const Tables& tables_;
  const BackendFacts& backend_;
  Dues dues_;
  UsageBook usage_;
  PresentWaits waits_;
  Time now_;
  IdVector<JobId, Entry> jobs_;
  std::map<JobId, Placed> placed_;
  IdVector<UserId, GpuTime> served_;
  std::int64_t cancelled_ = 0;
};

}  // namespace fairlead
