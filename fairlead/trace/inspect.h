// Statistics of a workload, for people and for scripts.
//
// O(jobs log jobs) time.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

struct TraceStats {
  std::string trace;
  std::int64_t jobs = 0;
  std::int64_t users = 0;
  std::int64_t models = 0;
  RowCounts rows;
  TraceReading reading;
  std::vector<std::string> implausible;  // trace/plausible.h

  // From the first to the last submission, and to the last end if every job ran when submitted.
  double first_submit_s = 0;
  double last_submit_s = 0;
  double last_end_s = 0;

  std::map<std::uint32_t, std::int64_t> jobs_by_gpus;

  // The q-quantile is the smallest duration that at least q of all jobs do not exceed.
  double duration_p50_s = 0;
  double duration_p90_s = 0;
  double duration_p99_s = 0;
  double duration_max_s = 0;
  double duration_mean_s = 0;

  double gpu_hours = 0;
  // GPUs in use if every job ran when submitted: the mean from the first submission to the last
  // end, and the largest number.
  double demand_mean_gpus = 0;
  std::int64_t demand_peak_gpus = 0;

  struct Ended {
    std::int64_t jobs = 0;
    double gpu_hours = 0;
  };
  std::map<std::string, Ended> states;  // by end state, if recorded

  // Run-time estimates: how much of the time limits that users asked for their jobs used.
  struct Limits {
    std::int64_t jobs = 0;      // with a time limit
    std::int64_t exceeded = 0;  // jobs of these that ran longer
    double used_p50 = 0;        // quantiles of duration / limit
    double used_p90 = 0;
  } limits;
  // The waits in the trace, from the submission to the start.
  struct Waits {
    std::int64_t jobs = 0;  // jobs with a recorded start
    double p50_s = 0;
    double p90_s = 0;
    double mean_s = 0;
  } waits;

  struct User {
    std::string name;
    std::int64_t tickets = 1;
    std::int64_t jobs = 0;
    double gpu_hours = 0;
  };
  std::vector<User> users_top;  // the kUsersTop users with the most GPU-hours, most first
};
constexpr std::size_t kUsersTop = 10;

TraceStats inspect(const Workload& workload);

// A table for the terminal.
std::string to_text(const TraceStats& stats, TimeUnits units = TimeUnits::kHuman);
// One JSON object with sorted keys; bytes of names that are not UTF-8 are replaced.
std::string to_json(const TraceStats& stats);

}  // namespace fairlead
