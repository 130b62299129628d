// The GPUs that users were due, by the policy's notes of entitlements, and the GPUs that they had, in jobs or outside. Also
// each user's debt by the policy's own account, if it has one.
//
// Time counts only while jobs wait. While none waits, all users have the GPUs they ask for, and earlier
// debts are forgotten, as in the policies.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"

#include <map>
#include <optional>

namespace fairlead {

class Dues : public RecordSink {
 public:
  // `tables` must have the users of the jobs that records name.
  explicit Dues(const Tables& tables) : tables_(tables) {}
  void on(const Record& record) override;

  struct Due {
    double gpus = 0;          // GPUs due now
    double behind_gpu_s = 0;  // GPU-seconds due minus GPU-seconds had, from `since`
    Time since;               // start of the time in which jobs wait
    // GPU-seconds by the policy's own account, which may go back further and weigh GPU types. If there is
    // none, use behind_gpu_s.
    std::optional<double> debt_gpu_s;
  };
  // Returns nothing if the policy noted no entitlement, or no job waits. O(GPU types).
  std::optional<Due> of(UserId user, Time now) const;

 private:
  struct Job {
    std::uint32_t allocated = 0;
    bool waits = false;
  };
  struct User {
    std::map<GpuTypeId, note::Thousandths> due;
    std::int64_t jobs = 0;       // jobs that wait or run
    std::int64_t allocated = 0;  // GPUs in use
    std::int64_t behind = 0;     // thousandths of GPU-milliseconds, up to `settled`
    std::optional<GpuTime> debt;
    Time settled;
    std::int64_t due_steps() const;
    std::int64_t behind_at(Time now) const;
  };

  User& settle(UserId user);
  void change(JobId job, std::uint32_t allocated, bool waits);
  void end(JobId job);

  const Tables& tables_;
  Time now_;
  Time since_ = Time::never();  // start of the time in which jobs wait; never: none waits
  std::int64_t waiting_ = 0;
  std::map<JobId, Job> jobs_;  // jobs that wait or run
  IdVector<UserId, User> users_;
};

}  // namespace fairlead
