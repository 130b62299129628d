// What users were due, as the policy's notes of entitlements say, and what they had; and how far the
// policy itself counts them behind, where it does.
//
// It counts while jobs wait: where none does, all have what they ask for, and what was owed before is
// forgotten, as policies do.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"

#include <map>
#include <optional>

namespace fairlead {

class Dues : public RecordSink {
 public:
  // `tables` knows the users of the jobs that records name.
  explicit Dues(const Tables& tables) : tables_(tables) {}
  void on(const Record& record) override;

  struct Due {
    double gpus = 0;          // now
    double behind_gpu_s = 0;  // it had so much less than it was due, since then; negative: more
    Time since;               // jobs have been waiting
    // By the policy's own account, which may go back further and weigh GPU types; behind_gpu_s without.
    std::optional<double> debt_gpu_s;
  };
  // Nothing where the policy has not said, or no job waits. O(GPU types).
  std::optional<Due> of(UserId user, Time now) const;

 private:
  struct Job {
    std::uint32_t held = 0;
    bool waits = false;
  };
  struct User {
    std::map<GpuTypeId, note::Thousandths> due;
    std::int64_t jobs = 0;    // here
    std::int64_t held = 0;    // GPUs
    std::int64_t behind = 0;  // thousandths of GPU-milliseconds, up to `settled`
    std::optional<GpuTime> debt;
    Time settled;
    std::int64_t due_steps() const;
    std::int64_t behind_at(Time now) const;
  };

  User& settle(UserId user);
  void change(JobId job, std::uint32_t held, bool waits);
  void end(JobId job);

  const Tables& tables_;
  Time now_;
  Time since_ = Time::never();  // jobs wait; never: none does
  std::int64_t waiting_ = 0;
  std::map<JobId, Job> jobs_;  // that are here
  IdVector<UserId, User> users_;
};

}  // namespace fairlead
