// Standstill: notices that a policy decides again and again while no job gets anywhere.
//
// Two ways lead there: every gang is stopped before the overhead of its start is over, so no job
// ever works; or the policy asks to be woken for ever for a job that it never places. A decision is
// idle if nothing but a wake-up led to it, and no job has arrived, ended or worked (held GPUs beyond
// the overhead of that hold) since the last one. kIdleMax idle decisions in a row are a standstill:
// at a quantum of a second that is close to three hours without any work. While a node is down,
// which may be all that the jobs wait for, kIdleMaxDown are.
//
// O(1) per call; at a limit O(running).
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
  static constexpr std::int64_t kIdleMaxDown = 1'000'000;

  // A job arrived, ended or worked.
  void on_progress() { idle_ = 0, spent_ = 0, stopped_early_ = {}; }
  // A hold ends, whose overhead is over at `works_from`.
  void on_hold_end(JobId job, Time works_from, Time now) {
    if (now > works_from) return on_progress();
    stopped_early_ = job;
  }
  // Call after each decision. True if the jobs have come to a standstill. `only_woke`: nothing but a
  // wake-up led to the decision; `all_up`: every node is up; `works_from`: of the running jobs.
  bool after_decision(bool only_woke, bool all_up, std::span<const JobId> running,
                      const IdVector<JobId, Time>& works_from, Time now) {
    if (!only_woke) return false;
    ++idle_;
    spent_ += all_up ? kIdleMaxDown / kIdleMax : 1;
    if (spent_ < kIdleMaxDown) return false;
    const auto works = [&](JobId job) { return now > works_from[job]; };
    if (std::ranges::none_of(running, works)) return true;
    on_progress();
    return false;
  }
  // Idle decisions since the last progress.
  std::int64_t idle() const { return idle_; }
  // The job last stopped before its overhead was over, since the last progress; or none.
  JobId stopped_early() const { return stopped_early_; }

 private:
  std::int64_t idle_ = 0;
  std::int64_t spent_ = 0;  // of the patience, in units of an idle decision with a node down
  JobId stopped_early_;
};

}  // namespace fairlead
