#include "fairlead/pods/gang_tasks.h"

#include <algorithm>
#include <utility>

namespace fairlead {

std::uint32_t share_of_task(std::uint32_t gpus, std::uint32_t task_gpus) {
  std::uint32_t share = task_gpus;
  while (share % 2 == 0 && share / 2 >= gpus) share /= 2;
  return share;
}

GangTasks tasks_of(std::vector<AlikePods> pods) {
  GangTasks found;
  found.task_gpus = std::ranges::max(pods, {}, &AlikePods::gpus).gpus;
  found.tasks = 0;
  const auto share = [&](const AlikePods& alike) {
    return share_of_task(alike.gpus, found.task_gpus);
  };
  // Each share divides the larger ones, so that tasks are filled without a gap.
  std::ranges::stable_sort(pods, std::ranges::greater{}, share);
  found.needs = pods.front().needs;
  std::uint32_t left = 0;  // GPUs of the last task that no pod takes
  Resources sum;           // requests of the pods of the last task
  for (const AlikePods& alike : pods) {
    add(found.requests, times(alike.needs.requests, alike.pods));
    if (alike.needs.rules != found.needs.rules)
      found.needs.rules = both(found.needs.rules, alike.needs.rules);
    for (std::uint32_t i = 0; i < alike.pods; ++i) {
      if (left == 0) {
        ++found.tasks;
        left = found.task_gpus;
        sum.clear();
      }
      left -= share(alike);
      add(sum, alike.needs.requests);
      raise(found.needs.requests, sum);
      // The others of that size are like this one.
      if (left == 0 && share(alike) == found.task_gpus) {
        found.tasks += alike.pods - i - 1;
        break;
      }
    }
  }
  return found;
}

}  // namespace fairlead
