#include "fairlead/metrics/timeline.h"

#include <algorithm>
#include <tuple>

namespace fairlead {

Timeline::Timeline(TimelineOptions options) : bins_max_(options.bins_max), width_(options.bin) {
  FL_CHECK(width_.ms >= 1 && bins_max_ >= 1, "{} bins of {} ms", bins_max_, width_.ms);
}

void Timeline::begin(Time t) {
  FL_CHECK(!is_started_, "the timeline begins twice");
  origin_ = t;
  is_started_ = true;
  for (Load& load : loads_) load.since = t;
}

void Timeline::advance(Time t, const ShareMeter& shares) {
  if (!is_started_) return;
  for (Time bin_end = start(bin_ + 1); bin_end <= t; bin_end = start(bin_ + 1)) {
    close_bin(bin_end, shares);
    while (!rows_.empty() && rows_.back().bin >= bins_max_) coarsen();
    // If nothing runs or waits, there is nothing to close.
    const Time next = jobs_ > 0 ? bin_end : t;
    bin_ = (next - origin_).ms / width_.ms;
  }
}

void Timeline::change(Time t, UserId user, Delta delta) {
  Load& load = loads_[user];
  settle(load, t);
  load.now.gpus_allocated += delta.gpus_allocated;
  load.now.running += delta.running;
  load.now.waiting += delta.waiting;
  jobs_ += delta.running + delta.waiting;
  FL_DCHECK(load.now.gpus_allocated >= 0 && load.now.running >= 0 && load.now.waiting >= 0,
            "user {} has {} GPUs, {} jobs run, {} wait", user.row(), load.now.gpus_allocated,
            load.now.running, load.now.waiting);
}

void Timeline::finish(Time t, Time end, const ShareMeter& shares) {
  if (!is_started_) return;
  advance(t, shares);
  close_bin(t, shares);
  while (!rows_.empty() && rows_.back().bin >= bins_max_) coarsen();
  merge_rows();
  end_ = end;
}

Duration Timeline::duration(std::int64_t bin) const {
  return std::min(start(bin + 1), end_) - start(bin);
}

void Timeline::settle(Load& load, Time t) {
  const Duration elapsed = t - load.since;
  FL_DCHECK(elapsed >= Duration{}, "{} ms is before {} ms", t.ms, load.since.ms);
  load.allocated += occupancy(elapsed, load.now.gpus_allocated);
  load.running_job_ms += elapsed.ms * load.now.running;
  load.waiting_job_ms += elapsed.ms * load.now.waiting;
  load.since = t;
}

void Timeline::close_bin(Time t, const ShareMeter& shares) {
  for (UserId user : ids<UserId>(loads_.size())) {
    Load& load = loads_[user];
    settle(load, t);
    const double entitled = shares.entitled_gpu_ms(user, t);
    const TimelineRow row{.bin = bin_,
                          .user = user,
                          .allocated = load.allocated,
                          .entitled_gpu_ms = entitled - load.entitled_before,
                          .running_job_ms = load.running_job_ms,
                          .waiting_job_ms = load.waiting_job_ms};
    load.allocated = {};
    load.running_job_ms = load.waiting_job_ms = 0;
    load.entitled_before = entitled;
    // A user with a job runs it or waits, and only such users are entitled to anything.
    if (row.running_job_ms > 0 || row.waiting_job_ms > 0) rows_.push_back(row);
  }
}

void Timeline::coarsen() {
  width_.ms *= 2;
  for (TimelineRow& row : rows_) row.bin /= 2;
  merge_rows();
}

void Timeline::merge_rows() {
  const auto key = [](const TimelineRow& row) { return std::tuple(row.bin, row.user); };
  std::ranges::stable_sort(rows_, {}, key);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    if (key(rows_[i]) != key(rows_[kept])) {
      rows_[++kept] = rows_[i];
      continue;
    }
    TimelineRow& into = rows_[kept];
    into.allocated += rows_[i].allocated;
    into.entitled_gpu_ms += rows_[i].entitled_gpu_ms;
    into.running_job_ms += rows_[i].running_job_ms;
    into.waiting_job_ms += rows_[i].waiting_job_ms;
  }
  if (!rows_.empty()) rows_.resize(kept + 1);
}

}  // namespace fairlead
