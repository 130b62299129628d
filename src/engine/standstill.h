// Standstill: notices that a policy decides again and again while no job gets anywhere.
//
// Two ways lead there: every gang is stopped before the overhead of its start is over, so no job
// ever works; or the policy asks to be woken for ever for a job that it never places. A decision is
// idle if nothing but a wake-up led to it, every node is up, and no job has arrived, ended or worked
// (held GPUs beyond the overhead of that hold) since the last one. kIdleMax idle decisions in a row
// are a standstill: at a quantum of a second that is close to three hours without any work.
//
// O(1) per call; every kIdleMax idle decisions O(running).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace fairlead {

class Standstill {
 public:
  static constexpr std::int64_t kIdleMax = 10'000;

  explicit Standstill(std::size_t jobs) : works_from_(jobs) {}

  // A job arrived, ended or worked.
  void on_progress() { idle_ = 0, stopped_early_ = {}; }
  // A hold begins, whose overhead is over at `works_from`.
  void on_hold(JobId job, Time works_from) { works_from_[job] = works_from; }
  void on_hold_end(JobId job, Time now) {
    if (now > works_from_[job]) return on_progress();
    stopped_early_ = job;
  }
  // Call after each decision. `only_woke`: a wake-up alone led to it, and every node is up. True if
  // the jobs have come to a standstill.
  bool after_decision(bool only_woke, std::span<const JobId> running, Time now) {
    if (!only_woke || ++idle_ < kIdleMax) return false;
    const auto works = [&](JobId job) { return now > works_from_[job]; };
    if (std::ranges::none_of(running, works)) return true;
    on_progress();
    return false;
  }
  // The job last stopped before its overhead was over, since the last progress; or none.
  JobId stopped_early() const { return stopped_early_; }

 private:
  std::int64_t idle_ = 0;
  JobId stopped_early_;
  IdVector<JobId, Time> works_from_;
};

}  // namespace fairlead
