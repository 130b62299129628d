#include "fairlead/local/task_history.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace fairlead {

TaskHistory::TaskHistory(FirstGpus first, std::span<const TaskStatus> tasks)
    : first_(std::move(first)) {
  for (const TaskStatus& task : tasks) gpus_[task.id];
}

void TaskHistory::on(const Record& record) {
  const auto* place = std::get_if<record::Place>(&record.what);
  if (place == nullptr) return;
  RunId& run = runs_.grow_to(place->job);
  if (place->copy == 0) ++run;
  const auto found = gpus_.find({place->job, run});
  if (found == gpus_.end()) return;
  const auto gpus = machine_gpus(first_, place->gang, place->gpu_masks);
  if (!found->second) found->second.emplace();
  found->second->insert(found->second->end(), gpus.begin(), gpus.end());
}

const std::vector<std::uint32_t>* TaskHistory::gpus_of(TaskId task) const {
  const auto found = gpus_.find(task);
  return found == gpus_.end() || !found->second ? nullptr : &*found->second;
}

std::set<TaskId> past_tasks(std::span<const TaskStatus> tasks) {
  std::set<TaskId> past;
  for (const TaskStatus& task : tasks) {
    const bool has_later = std::ranges::any_of(tasks, [&](const TaskStatus& other) {
      return other.id.job == task.id.job && other.id.run > task.id.run;
    });
    if (task.state == TaskStatus::State::kEnded && has_later) past.insert(task.id);
  }
  return past;
}

}  // namespace fairlead
