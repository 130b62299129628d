#include "fairlead/io/sim_task_ends.h"

#include <cstdint>

namespace fairlead {
namespace {

constexpr std::int64_t kLateNoticeMs = 10'000;

}  // namespace

void SimTaskEnds::settle() {
  ended_.clear();
  tasks_.advance(agenda_.now(), ended_);
  plan_notices();
}

void SimTaskEnds::end_early(TaskId task) {
  ended_.clear();
  tasks_.end_early(agenda_.now(), task, seconds(10), ended_);
  plan_notices();
}

void SimTaskEnds::plan_notices() {
  for (const TaskId task : ended_) {
    const bool is_late = faults_.happens(&SimFaults::late_notice);
    const Time at = agenda_.now() + (is_late ? faults_.upto(kLateNoticeMs) : faults_.delay(2));
    agenda_.plan(at, SimAgenda::Kind::kNotice, calls_.life(), task);
    if (!faults_.happens(&SimFaults::told_twice)) continue;
    agenda_.plan(at + faults_.upto(kLateNoticeMs), SimAgenda::Kind::kNotice, calls_.life(), task);
  }
}

const SimTask* SimTaskEnds::noticed(const SimAgenda::Event& notice) const {
  const SimTask* const task = tasks_.find(notice.task);
  return task == nullptr || task->is_alive() || notice.what != calls_.life() ? nullptr : task;
}

}  // namespace fairlead
