#include "fairlead/live/usage_book.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr Duration kHour = seconds(3600);

Time begin_of(std::int64_t hour) { return Time{hour * kHour.ms}; }

}  // namespace

void UsageBook::on(const Record& record) {
  now_ = record.t;
  std::visit(
      Overloaded{
          [&](const record::Place& what) { place(what); },
          [&](const record::Charged& what) {
            const GpuTypeId type = tables_.cluster.node_type[what.node];
            hours_[now_.ms / kHour.ms][{what.user, ModelId(), type, true}] += what.attained;
          },
          [&](const OneOf<record::Stop, record::Evicted, record::StartFailed, record::Finished,
                          record::Failed, record::Cancelled> auto& what) { end(what.job); },
          [](const auto&) {},
      },
      record.what);
}

void UsageBook::place(const record::Place& what) {
  Run& run = running_[what.job];
  if (what.copy == 0) run = {.since = now_, .gpus = {}};
  for (Slice slice : what.gang)
    run.gpus.emplace_back(tables_.cluster.node_type[slice.node], slice.gpus);
}

void UsageBook::end(JobId job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  add(hours_, job, found->second, now_);
  running_.erase(found);
}

void UsageBook::add(Hours& hours, JobId job, const Run& run, Time until) const {
  for (Time from = run.since; from < until;) {
    const std::int64_t hour = from.ms / kHour.ms;
    const Time to = std::min(until, begin_of(hour + 1));
    for (const auto& [type, gpus] : run.gpus) {
      GpuTime& time = hours[hour][{tables_.jobs.user[job], tables_.jobs.model[job], type, false}];
      time = time + occupancy(to - from, gpus);
    }
    from = to;
  }
}

UsageBook::Times UsageBook::between(Time from, Time now) const {
  Hours hours(hours_.lower_bound(from.ms / kHour.ms), hours_.end());
  for (const auto& [job, run] : running_) {
    Run rest = run;
    rest.since = std::max(run.since, begin_of(from.ms / kHour.ms));
    add(hours, job, rest, now);
  }
  Times sums;
  for (const auto& [hour, times] : hours) {
    const Duration all = std::min(now, begin_of(hour + 1)) - begin_of(hour);
    const Duration counts = all - (std::max(from, begin_of(hour)) - begin_of(hour));
    if (counts.ms <= 0) continue;
    for (const auto& [of, time] : times)
      sums[of] = sums[of] + GpuTime{time.gpu_ms * counts.ms / all.ms};
  }
  return sums;
}

}  // namespace fairlead
