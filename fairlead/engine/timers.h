// Timers: the times at which the engine acts by itself.
//
//   wake-ups   requested by the policy: it decides again
//   retries    of jobs whose start failed: they are released from their hold
//
// O(log timers) per timer.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace fairlead {

class Timers {
 public:
  // Returns the earliest time of a timer; Time::never(): there is none.
  Time next() const {
    const Time wake = wakes_.empty() ? Time::never() : wakes_.top();
    return retries_.empty() ? wake : std::min(wake, retries_.top().first);
  }

  void wake_at(std::span<const Time> times) {
    for (Time time : times) wakes_.push(time);
  }
  // Removes the wake-ups that are due; returns false if there were none.
  bool take_wakes(Time now) {
    if (wakes_.empty() || wakes_.top() > now) return false;
    while (!wakes_.empty() && wakes_.top() <= now) wakes_.pop();
    return true;
  }
  void clear_wakes() { wakes_ = {}; }
  // Returns all requested wake-ups, the earliest first. O(wake-ups x log).
  std::vector<Time> wakes() const {
    std::vector<Time> times;
    for (auto left = wakes_; !left.empty(); left.pop()) times.push_back(left.top());
    return times;
  }

  // A retry may be obsolete when it is due: Tables::held_until has the time that counts.
  void retry_at(Time time, JobId job) { retries_.push({time, job}); }
  bool has_retries() const { return !retries_.empty(); }
  // Removes the earliest retry that is due, and returns its time and job.
  std::optional<std::pair<Time, JobId>> take_retry(Time now) {
    if (retries_.empty() || retries_.top().first > now) return std::nullopt;
    const std::pair<Time, JobId> retry = retries_.top();
    retries_.pop();
    return retry;
  }

 private:
  template <class Value>
  using Earliest = std::priority_queue<Value, std::vector<Value>, std::greater<>>;

  Earliest<Time> wakes_;
  Earliest<std::pair<Time, JobId>> retries_;
};

}  // namespace fairlead
