// The journal's records of the tasks that a daemon finds when it starts.
//
// A record costs O(GPUs of its gang), if it is of a found task, else O(log tasks). Source: ours.
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/machine.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace fairlead {

class TaskHistory : public RecordSink {
 public:
  TaskHistory(FirstGpus first, std::span<const TaskStatus> tasks);
  void on(const Record& record) override;
  // Returns the GPUs given to a task, which may be none; null: the journal does not know the task. Valid until on().
  const std::vector<std::uint32_t>* gpus_of(TaskId task) const;

 private:
  const FirstGpus first_;
  std::map<TaskId, std::optional<std::vector<std::uint32_t>>> gpus_;
  IdVector<JobId, RunId> runs_;  // so far
};

// Returns tasks that ended before a later task of their job started. The daemon had only not forgotten them yet.
std::set<TaskId> past_tasks(std::span<const TaskStatus> tasks);

}  // namespace fairlead
