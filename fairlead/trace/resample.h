// Other traces that could have come in place of one: blocks of its days, drawn again.
//
// The circular block bootstrap (Politis and Romano 1992) of arrivals. A trace has D days of 24 h from its first
// submission on; jobs of a last part of less than half a day belong to the day before. A resample has D days too: blocks
// of L consecutive days, each from a first day that is drawn with equal chances, where the first day follows the last.
// So a job keeps its time of day and the jobs around it, and each day comes once in the mean. L is the
// whole part of the cube root of D, the order at which the error of such a variance is least (Hall, Horowitz and Jing
// 1995): 1 day for a week, 3 for a month, 7 for a year.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <cstdint>

namespace fairlead {

// A shorter trace has no resamples, because it lacks some days of the week, and few days give too small a spread.
constexpr std::int64_t kResampledDaysMin = 7;

struct TraceDays {
  std::int64_t days = 0;   // at least 1
  std::int64_t block = 0;  // days of a block
};
// O(jobs). REQUIRES: there are jobs.
TraceDays trace_days(const Workload& workload);

// Returns the resample of `seed`. A job that comes several times is renamed id#2, id#3, ... Recorded starts are left
// out, because jobs have other neighbours. Rows, reading and name stay. Error: the trace has fewer
// than kResampledDaysMin days. O(jobs log jobs) time, and a copy of the workload. REQUIRES: there are jobs.
Result<Workload> resampled(const Workload& workload, std::uint64_t seed);

}  // namespace fairlead
