// Removes the logs of jobs that have ended long ago. Logs are the only files of such jobs.
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"

#include <deque>
#include <utility>

namespace fairlead {

class OldLogs : public RecordSink {
 public:
  // `keep`: from the end of a job to the removal of its log; zero: for ever. REQUIRES: `io` outlives this.
  OldLogs(Io& io, Duration keep) : io_(io), keep_(keep) {}

  // Notes the ends of jobs. REQUIRES: records come in the order of their times.
  void on(const Record& record) override;
  // Forgets the ends of jobs that have no log any more. O(ends log).
  void forget_removed();
  // Returns the time of the next on_time().
  Time deadline() const;
  // Removes logs. The records of the ends must be on the disk.
  void on_time(Time now);

 private:
  Io& io_;
  const Duration keep_;
  std::deque<std::pair<Time, JobId>> ends_;
};

}  // namespace fairlead
