// The jobs that start after others: their holds and releases, and their conditions in the files of their submissions.
//
// Such a job is held until its conditions are met, also after a restart: the tables give the ends of the others. Its file
// loses the conditions once its release is on the disk. If its user holds it meanwhile, its file records that, because the
// journal has it as held already (docs/decisions/0055-a-job-that-waits-for-others-is-held.md).
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/submission.h"

#include <map>

namespace fairlead {

class StartConditions : public RecordSink {
 public:
  // REQUIRES: the arguments outlive this.
  StartConditions(Io& io, const Tables& tables, Inbox& inbox)
      : io_(io), tables_(tables), inbox_(inbox) {}

  // Adds a job if it has conditions; the submission must stay in place until remove(). A new job comes held: its arrival
  // must be in the same batch.
  void add(JobId job, Submission& what, bool is_new);
  void remove(JobId job) { jobs_.erase(job); }
  // Returns whether the job is held until others have ended.
  bool has(JobId job) const { return jobs_.contains(job); }
  // Holds a job beside its conditions, or ends this. Error: the disk takes no more, and nothing was changed. REQUIRES:
  // has(job).
  Status set_held(JobId job, bool is_held);

  // A record must be applied to the tables before it comes here.
  void on(const Record& record) override;
  // Returns whether update() may have something to do.
  bool is_due() const { return has_ends_ && !jobs_.empty(); }
  // Releases jobs with conditions that are met, and cancels jobs with conditions that cannot be met any more. REQUIRES: all
  // requests of the next batch are known, so that it has no hold and no release of a job at once. O(jobs x conditions)
  // after an end, otherwise O(1).
  void update();
  // Removes the conditions of released jobs; another hold is then their user's. Error: the disk takes no more. REQUIRES:
  // the journal that records the releases is on the disk. O(jobs log) after a release, otherwise O(1).
  Status forget_released();

 private:
  void judge(JobId job, const Submission& what);

  Io& io_;
  const Tables& tables_;
  Inbox& inbox_;
  std::map<JobId, Submission*> jobs_;
  bool has_ends_ = true;      // since the last update()
  bool has_releases_ = true;  // since the last forget_released()
};

}  // namespace fairlead
