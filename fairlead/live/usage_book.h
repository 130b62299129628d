// The GPU time of users, models and GPU types, by hour, for questions about the past. Time that users took outside of
// their jobs counts in the hour of its record, and apart.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace fairlead {

class UsageBook : public RecordSink {
 public:
  // A record must be applied to `tables` before it comes here; later records may have been applied as well. REQUIRES:
  // `tables` outlives this.
  explicit UsageBook(const Tables& tables) : tables_(tables) {}
  void on(const Record& record) override;

  struct Of {
    UserId user;
    ModelId model;  // none: the job has no model
    GpuTypeId type;
    bool is_foreign = false;  // taken outside of the user's jobs
    friend auto operator<=>(const Of&, const Of&) = default;
  };
  using Times = std::map<Of, GpuTime>;
  // Returns the GPU time that users had from `from` to `now`. The book has whole hours: of the hour of `from`, it counts the
  // part after `from` in proportion to the time. O((hours + running jobs) log).
  Times between(Time from, Time now) const;

 private:
  struct Run {
    Time since;
    std::vector<std::pair<GpuTypeId, std::uint32_t>> gpus;
  };
  using Hours = std::map<std::int64_t, Times>;

  void place(const record::Place& what);
  void end(JobId job);
  // Adds a run that goes on until `until`. O(hours log).
  void add(Hours& hours, JobId job, const Run& run, Time until) const;

  const Tables& tables_;
  Time now_;
  Hours hours_;  // GPU time of ended runs, by the number of the hour since the start of the journal
  std::map<JobId, Run> running_;
};

}  // namespace fairlead
