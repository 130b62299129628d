#include "fairlead/trace/resample.h"

#include "fairlead/base/rng.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kDay = hours(24);
constexpr std::uint64_t kBlockStream =
    0x626c6f636b;  // "block": apart from other draws of a run's seed

// The jobs of each day, in the order of their rows.
std::vector<std::vector<JobId>> jobs_by_day(const Workload& workload, std::int64_t days) {
  const Time first = std::ranges::min(workload.jobs.arrival);
  std::vector<std::vector<JobId>> by_day(static_cast<std::size_t>(days));
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const std::int64_t day = (workload.jobs.arrival[job] - first).ms / kDay.ms;
    by_day[static_cast<std::size_t>(std::min(day, days - 1))].push_back(job);
  }
  return by_day;
}

// Returns the day of the trace that stands at each day of the resample.
std::vector<std::int64_t> drawn_days(const TraceDays& trace, std::uint64_t seed) {
  Rng rng = Rng(seed).split(kBlockStream);
  std::vector<std::int64_t> drawn;
  std::int64_t first = 0;
  for (std::int64_t day = 0; day < trace.days; ++day) {
    const std::int64_t in_block = day % trace.block;
    if (in_block == 0)
      first = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(trace.days)));
    drawn.push_back((first + in_block) % trace.days);
  }
  return drawn;
}

}  // namespace

TraceDays trace_days(const Workload& workload) {
  FL_CHECK(workload.jobs.size() > 0, "no jobs");
  const auto [first, last] = std::ranges::minmax(workload.jobs.arrival);
  const std::int64_t half_days = (last - first).ms / (kDay.ms / 2);
  const std::int64_t days = std::max<std::int64_t>(1, (half_days + 1) / 2);
  return {days, std::llround(std::floor(std::cbrt(static_cast<double>(days))))};
}

Result<Workload> resampled(const Workload& workload, std::uint64_t seed) {
  const TraceDays trace = trace_days(workload);
  if (trace.days < kResampledDaysMin) {
    return input_error("{}: days of a trace can be drawn again if it has {} or more: {}",
                       workload.name, kResampledDaysMin, trace.days);
  }
  const std::vector<std::vector<JobId>> by_day = jobs_by_day(workload, trace.days);
  // Lenient, because it renames the jobs that come several times. All rows were accepted before.
  WorkloadBuilder builder(workload.name, Reading::kLenient);
  std::int64_t day = 0;
  for (const std::int64_t from : drawn_days(trace, seed)) {
    const Duration later{(day - from) * kDay.ms};
    for (const JobId job : by_day[static_cast<std::size_t>(from)]) {
      JobRow row = row_of(workload, job);
      row.submit = row.submit + later;
      row.logged.start = Time::never();
      FL_TRY(builder.add(row, Where(workload.name)));
    }
    ++day;
  }
  Workload drawn = builder.finish();
  drawn.rows = workload.rows;
  TraceReading reading = workload.reading;
  std::swap(reading.states, drawn.reading.states);
  drawn.reading = std::move(reading);
  return drawn;
}

}  // namespace fairlead
