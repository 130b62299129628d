#include "fairlead/solve/single_machine.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace fairlead {
namespace {

std::vector<MachineJob> by_release(std::span<const MachineJob> jobs) {
  for (const MachineJob& job : jobs) {
    FL_DCHECK(job.release_ms >= 0 && job.size_ms >= 0, "{} ms from {} ms", job.size_ms,
              job.release_ms);
  }
  std::vector<MachineJob> sorted(jobs.begin(), jobs.end());
  std::ranges::sort(sorted, {}, &MachineJob::release_ms);
  return sorted;
}

}  // namespace

double least_flow_time_ms(std::span<const MachineJob> jobs) {
  const std::vector<MachineJob> sorted = by_release(jobs);
  std::priority_queue<double, std::vector<double>, std::greater<>> left;  // the shortest on top
  double now = 0;
  double flow = 0;
  std::size_t next = 0;
  while (next < sorted.size() || !left.empty()) {
    if (left.empty()) now = std::max(now, sorted[next].release_ms);
    for (; next < sorted.size() && sorted[next].release_ms <= now; ++next) {
      left.push(sorted[next].size_ms);
    }
    const double shortest = left.top();
    left.pop();
    const bool is_interrupted = next < sorted.size() && sorted[next].release_ms < now + shortest;
    const double until = is_interrupted ? sorted[next].release_ms : now + shortest;
    // Every present job waits or runs.
    flow += (until - now) * static_cast<double>(left.size() + 1);
    if (is_interrupted) left.push(shortest - (until - now));
    now = until;
  }
  return flow;
}

double least_mean_busy_time_ms(std::span<const MachineJob> jobs) {
  struct Left {
    double size_ms;
    double release_ms;
    double left_ms;
    bool operator>(const Left& other) const { return size_ms > other.size_ms; }
  };
  const std::vector<MachineJob> sorted = by_release(jobs);
  std::priority_queue<Left, std::vector<Left>, std::greater<>> here;  // the smallest on top
  double now = 0;
  double sum = 0;
  std::size_t next = 0;
  while (next < sorted.size() || !here.empty()) {
    if (here.empty()) now = std::max(now, sorted[next].release_ms);
    for (; next < sorted.size() && sorted[next].release_ms <= now; ++next) {
      const auto [release_ms, size_ms] = sorted[next];
      if (size_ms > 0) here.push({size_ms, release_ms, size_ms});  // else it is done at once
    }
    if (here.empty()) continue;
    Left job = here.top();
    here.pop();
    const double next_ms =
        next < sorted.size() ? sorted[next].release_ms : std::numeric_limits<double>::infinity();
    const double until = std::min(next_ms, now + job.left_ms);
    sum += (until - now) / job.size_ms * ((now + until) / 2 - job.release_ms);
    job.left_ms -= until - now;
    if (until == next_ms && job.left_ms > 0) here.push(job);
    now = until;
  }
  return sum;
}

double least_makespan_ms(std::span<const MachineJob> jobs) {
  double end = 0;
  for (const MachineJob& job : by_release(jobs)) {
    end = std::max(end, job.release_ms) + job.size_ms;
  }
  return end;
}

}  // namespace fairlead
