// Standstill: notices that a run goes on for ever, while no job gets anywhere.
//
// Two rules:
//
//   idle      kIdleMax decisions in a row, to which nothing but a wake-up led, while every node was up
//             and no job arrived, ended or worked (had GPUs beyond the overhead of the run's start).
//             The policy causes it: it stops every gang before the overhead of its start is over, or
//             asks for wake-ups for ever for a job that it never places.
//   no work   kRecordsMax records and decisions, with a job here all the time, in which fewer than
//             kEndsMin jobs ended, and jobs worked for less than kWorkMin each. The work of all jobs,
//             without lost work, is also less than 1 / kTimePerWork of the simulated time. This rule
//             ends runs with new events for ever: nodes that fail as soon as they are up, or a policy
//             with turns between the failures.
//
// A job that runs alone works all the time. Jobs in turns of a second with half a second
// of overhead work half of the time. So neither is near a limit. O(1) per call; at a limit
// O(running).
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
  static constexpr std::int64_t kRecordsMax = 1'000'000;
  static constexpr std::int64_t kEndsMin = 100;
  static constexpr Duration kWorkMin{100};
  static constexpr std::int64_t kTimePerWork = 100;

  struct Jobs {
    std::span<const JobId> running;
    const IdVector<JobId, Time>& works_from;  // start of work, for running jobs
    bool any;                                 // a job is here
  };

  void on_record() { ++records_; }
  // A job arrived; `is_first`: no other was here.
  void on_arrival(Time now, bool is_first) {
    idle_ = 0;
    if (is_first) start_stretch(now);
  }
  // A job that was held may be placed again.
  void on_release() { idle_ = 0; }
  void on_end() {
    idle_ = 0;
    ++ended_;
  }
  // A run ends, whose overhead was over at `works_from`. `lost`: of its work; `is_taken`: the world
  // took its GPUs.
  void on_run_end(JobId job, Time works_from, Time now, Duration lost, bool is_taken) {
    taken_ += is_taken ? 1 : 0;
    if (now <= works_from) {
      if (!is_taken) stopped_early_ = job;
      return;
    }
    idle_ = 0;
    stopped_early_ = {};
    work_ = work_ + worked(works_from, now) - lost;
  }
  // Call after each decision. True if they were idle too often. `only_woke`: nothing but a wake-up led
  // to it; `all_up`: every node is up.
  bool is_idle(bool only_woke, bool all_up, const Jobs& jobs, Time now) {
    ++records_;
    if (!only_woke || !all_up || ++idle_ < kIdleMax) return false;
    const auto works = [&](JobId job) { return now > jobs.works_from[job]; };
    if (std::ranges::none_of(jobs.running, works)) return true;
    idle_ = 0;
    return false;
  }
  // Call after each instant. True if jobs did next to no work for too long.
  bool is_endless(const Jobs& jobs, Time now) {
    if (records_ < kRecordsMax || !jobs.any) return false;
    for (JobId job : jobs.running) work_ = work_ + worked(jobs.works_from[job], now);
    const Duration enough =
        std::min(Duration{kWorkMin.ms * records_}, Duration{(now - since_).ms / kTimePerWork});
    if (ended_ < kEndsMin && work_ < enough) return true;
    start_stretch(now);
    return false;
  }
  // Restarts the counts at `now`; called if the run goes on after a limit.
  void start_anew(Time now) {
    idle_ = 0;
    start_stretch(now);
  }

  // Idle decisions in a row.
  std::int64_t idle() const { return idle_; }
  // The stretch starts when a job comes to an empty cluster, or when work was last counted. These are
  // its start, its records and decisions, the work of jobs, and how often the world took a job's GPUs.
  Time since() const { return since_; }
  std::int64_t records() const { return records_; }
  Duration work() const { return work_; }
  std::int64_t taken() const { return taken_; }
  // The job that the policy last stopped before its overhead was over in that stretch; or none.
  JobId stopped_early() const { return stopped_early_; }

 private:
  void start_stretch(Time now) {
    since_ = now;
    records_ = ended_ = taken_ = 0;
    work_ = {};
    stopped_early_ = {};
  }
  // Within the stretch.
  Duration worked(Time works_from, Time now) const {
    return std::max(Duration{}, now - std::max(works_from, since_));
  }

  std::int64_t idle_ = 0;
  Time since_;
  std::int64_t records_ = 0;
  std::int64_t ended_ = 0;
  Duration work_;
  std::int64_t taken_ = 0;
  JobId stopped_early_;
};

}  // namespace fairlead
