// The facts about present jobs that the tables do not keep and that explain their waits: the start of a wait,
// the cause of the last stop, and the policy's last notes.
//
// Memory: per present job and user. A record costs O(log jobs).
#pragma once

#include "fairlead/explain/verdict.h"
#include "fairlead/journal/journal.h"

#include <map>
#include <optional>

namespace fairlead {

// The policy's last notes on one job or user, by the number of the note's kind.
using LastNotes = std::map<std::size_t, NoteFields>;

class PresentWaits : public RecordSink {
 public:
  struct Job {
    std::optional<Time> since{};  // start of its present wait or run; none: before the first record
    std::optional<StopCause> stop{};  // cause of the stop that began its wait
    Time timer{};                     // as in WaitingJob
    LastNotes notes{};
  };

  // May start at any record of a run.
  void on(const Record& record) override;
  // Returns null if no record was about this job.
  const Job* find(JobId job) const;
  const UserNotes& of(UserId user) const;

 private:
  void begin(JobId job, Time since, std::optional<StopCause> stop);

  std::map<JobId, Job> jobs_;
  std::map<UserId, UserNotes> users_;
};

}  // namespace fairlead
