// The audit of the work done, for exact worlds such as the simulator. A job must finish at the first
// millisecond at which the journalled rates have done its work, and no job may run past that moment: no
// work is lost or invented. A speed changes at most once at one instant, whatever else happens then.
//
// If a world reports a job's start instead of promising it to the millisecond, the job is not checked
// from then on. The life cycle is checked by the other audit. O(1) per record.
#pragma once

#include "fairlead/journal/audit_problems.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/rate_history.h"

namespace fairlead {

class WorkAudit {
 public:
  // `problems` must outlive it.
  explicit WorkAudit(AuditProblems& problems) : problems_(problems) {}

  void on(const Record& record);

 private:
  struct AuditedJob {
    bool is_exact = false;  // its work is known, and every run so far was exact
    bool runs = false;
    Work left;
    Rate rate;
    Time progress_from;
    Time speed_at = Time::never();  // when its speed changed last
  };

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.add(now_, format, std::forward<Args>(args)...);
  }
  AuditedJob* running(JobId job);
  void on_place(const record::Place& place);
  void on_stop(JobId job, Duration lost);
  void on_speed(const record::Speed& speed);
  void on_done(JobId job, bool finished);
  void on_end();
  void settle(AuditedJob& job) const;

  AuditProblems& problems_;
  IdVector<JobId, AuditedJob> jobs_;
  RateHistory rates_;  // rates of running jobs
  Time now_;
};

}  // namespace fairlead
