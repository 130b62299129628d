// GPUs in use and entitled, and jobs running and waiting, by user, as means over equal bins of time.
//
// The first bin begins at the first arrival. Bins begin at the width asked for; whenever there
// would be more than `bins_max` of them, neighbours are merged and the width doubles. So the end
// need not be known, and the same records give the same bins. A user's row is kept only where
// something in it is not zero.
//
// A change costs O(1), a bin O(users).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/solve/share_meter.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct TimelineOptions {
  Duration bin = seconds(60);   // at least 1 ms
  std::int64_t bins_max = 512;  // at least 1
};

// Integrals over one bin; divide by duration() for means.
struct TimelineRow {
  std::int64_t bin = 0;
  UserId user;
  GpuTime allocated;
  double entitled_gpu_ms = 0;
  std::int64_t running_job_ms = 0;
  std::int64_t waiting_job_ms = 0;
};

class Timeline {
 public:
  explicit Timeline(TimelineOptions options);

  void add_user() { loads_.push_back({}); }
  // Closes the bins that end at or before `t`. Called before the first change at `t`.
  // REQUIRES: `shares` has not been changed at `t` yet.
  void advance(Time t, const ShareMeter& shares);
  // The first arrival: time before it is not counted.
  void begin(Time t);
  bool is_started() const { return is_started_; }
  // A user's change at `t`: the GPUs, running jobs and waiting jobs that are added.
  struct Delta {
    std::int64_t gpus_allocated = 0;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
  };
  void change(Time t, UserId user, Delta delta);
  // Closes the last bin; called once, at the end of the journal. `end`: where measuring ends.
  void finish(Time t, Time end, const ShareMeter& shares);

  // By bin, then user.
  const std::vector<TimelineRow>& rows() const { return rows_; }
  Time start(std::int64_t bin) const { return origin_ + Duration{bin * width_.ms}; }
  // The length of the bin up to the end of measuring.
  Duration duration(std::int64_t bin) const;

 private:
  struct Load {
    Delta now;
    Time since;
    // Integrals up to `since`, and all of it at the end of the bin before.
    GpuTime allocated;
    std::int64_t running_job_ms = 0;
    std::int64_t waiting_job_ms = 0;
    double entitled_before = 0;
  };

  void settle(Load& load, Time t);
  void close_bin(Time t, const ShareMeter& shares);
  void coarsen();
  void merge_rows();

  IdVector<UserId, Load> loads_;
  std::vector<TimelineRow> rows_;
  std::int64_t bins_max_;
  Duration width_;
  Time origin_;
  Time end_;
  std::int64_t bin_ = 0;   // the open one
  std::int64_t jobs_ = 0;  // running or waiting
  bool is_started_ = false;
};

}  // namespace fairlead
