// What clients ask about jobs and users that the engine has no use for: when, why, how often.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"
#include "fairlead/serve/dues.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class JobBook : public RecordSink {
 public:
  // `tables` holds what the record says already when it comes here.
  explicit JobBook(const Tables& tables) : tables_(tables), dues_(tables) {}
  void on(const Record& record) override;

  struct Entry {
    Time done = Time::never();
    Time since = Time::never();  // of the state that it is in
    Duration declared;           // as its user says; zero: not
    std::uint32_t tasks = 0;     // one for each time that it was placed on other GPUs than before
    std::string reason;          // why it failed, was rejected, or could not start

    std::uint32_t restarts() const { return tasks == 0 ? 0 : tasks - 1; }
  };
  const Entry& of(JobId job) const { return jobs_[job]; }
  // The last notes of the policy about a job, by kind.
  const std::map<std::size_t, NoteFields>& notes(JobId job) const;
  // GPU time served to the user's jobs that are done.
  GpuTime served(UserId user) const { return served_.has(user) ? served_[user] : GpuTime(); }
  std::int64_t cancelled() const { return cancelled_; }
  const Dues& dues() const { return dues_; }
  // Jobs that are done since the last call.
  std::vector<JobId> take_done() { return std::exchange(done_, {}); }

 private:
  // GPUs of a job's last task, all of its copies, and how it was before that was placed.
  struct Placed {
    std::vector<std::pair<NodeId, std::uint64_t>> gpus, before;
    std::uint32_t tasks_before = 0;
  };
  void place(const record::Place& what);
  void end(JobId job, std::string_view reason);
  Entry& entry(JobId job) { return jobs_.grow_to(job); }

  const Tables& tables_;
  Dues dues_;
  Time now_;
  IdVector<JobId, Entry> jobs_;
  std::map<JobId, std::map<std::size_t, NoteFields>> notes_;
  std::map<JobId, Placed> placed_;
  IdVector<UserId, GpuTime> served_;
  std::vector<JobId> done_;
  std::int64_t cancelled_ = 0;
};

}  // namespace fairlead
