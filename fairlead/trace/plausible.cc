#include "fairlead/trace/plausible.h"

#include "fairlead/trace/states.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::size_t kJobsMin = 10;
constexpr Duration kYear = hours(std::int64_t{365} * 24);

std::string duration_text(Duration duration) {
  if (duration < seconds(1)) return fmt::format("{} ms", duration.ms);
  return fmt::format("{:.1f} years", static_cast<double>(duration.ms) / kYear.ms);
}

void judge_durations(const Workload& workload, std::vector<std::string>& odd) {
  std::vector<Duration> durations(workload.durations.begin(), workload.durations.end());
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  if (*middle < seconds(1)) {
    odd.push_back(fmt::format("the median duration is {}: are durations in hours or days?",
                              duration_text(*middle)));
  }
  if (*middle >= kYear) {
    odd.push_back(fmt::format("the median duration is {}: are durations in milliseconds?",
                              duration_text(*middle)));
  }
}

void judge_submissions(const Workload& workload, std::vector<std::string>& odd) {
  std::vector<Time> times(workload.jobs.arrival.begin(), workload.jobs.arrival.end());
  std::ranges::sort(times);
  std::size_t most = 0;
  for (std::size_t begin = 0, at = 0; at < times.size(); ++at) {
    if (times[at] != times[begin]) begin = at;
    most = std::max(most, at - begin + 1);
  }
  if (10 * most < 9 * times.size()) return;
  odd.push_back(fmt::format("{} of {} jobs are submitted at the same time", most, times.size()));
}

void judge_states(const Workload& workload, std::vector<std::string>& odd) {
  std::int64_t told = 0;
  std::int64_t cancelled = 0;
  for (const auto& [state, jobs] : workload.reading.states) {
    told += jobs;
    if (is_cancelled(state)) cancelled += jobs;
  }
  if (told < static_cast<std::int64_t>(kJobsMin) || 10 * cancelled < 6 * told) return;
  odd.push_back(fmt::format("{} of {} jobs were cancelled, and count with the time that they ran",
                            cancelled, told));
}

}  // namespace

std::vector<std::string> implausible_facts(const Workload& workload) {
  std::vector<std::string> odd;
  if (workload.jobs.size() < kJobsMin) return odd;
  judge_durations(workload, odd);
  judge_submissions(workload, odd);
  judge_states(workload, odd);
  return odd;
}

Status check_rejected(const Workload& workload) {
  const RowCounts& rows = workload.rows;
  if (100 * rows.unusable() <= rows.meant()) return {};
  std::string reasons;
  for (const auto& [reason, count] : rows.rows_rejected) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  }
  return input_error(
      "{}: {} of {} rows cannot be used, which is more than 1 % (--set rejected=allow leaves them "
      "out): {}{}{}",
      workload.name, rows.unusable(), rows.meant(), reasons,
      rows.first_unusable.empty() ? "" : "; the first is ", rows.first_unusable);
}

}  // namespace fairlead
