#include "fairlead/solve/single_machine.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <functional>
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
    // Every job that is here waits or runs.
    flow += (until - now) * static_cast<double>(left.size() + 1);
    if (is_interrupted) left.push(shortest - (until - now));
    now = until;
  }
  return flow;
}

double least_makespan_ms(std::span<const MachineJob> jobs) {
  double end = 0;
  for (const MachineJob& job : by_release(jobs)) {
    end = std::max(end, job.release_ms) + job.size_ms;
  }
  return end;
}

}  // namespace fairlead
