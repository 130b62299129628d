#include "fairlead/io/sim_tasks.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

constexpr Duration kBrokenGpu = milliseconds(100);  // a task on a broken GPU ends after that
constexpr Duration kBrittle = seconds(30);          // frozen for so long, a brittle task may die
constexpr std::int64_t kKilledMs = 5;      // a task that is killed is gone after about that
constexpr std::int64_t kStuckMs = 20'000;  // or that, if it waits for a device

std::int64_t number(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void read_word(std::string_view word, SimWork& work) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(std::min(equals + 1, word.size()));
  if (name == "exit") work.code = static_cast<int>(number(value, 0));
  if (name == "times") work.times = static_cast<std::uint32_t>(number(value, 1));
  if (name == "retries") work.retries = static_cast<std::uint32_t>(number(value, 0));
  if (name == "every") work.every = {std::max<std::int64_t>(number(value, 1), 1)};
  if (name == "hang") work.hangs = true;
  if (name == "brittle") work.is_brittle = true;
  if (name == "broken") work.broken = static_cast<std::uint32_t>(number(value, 0));
  if (name == "power") work.power = number(value, 0);
  if (name == "silent") work.is_silent = true;
  if (name == "mute") work.is_mute = true;
  if (name == "gradients") work.gradients_kb = number(value, 0);
  if (name == "nostart") work.failing_starts = static_cast<std::uint32_t>(number(value, 0));
  if (name != "term") return;
  if (value == "ignore") work.on_term = SimWork::OnTerm::kIgnore;
  if (value == "forget") work.on_term = SimWork::OnTerm::kForget;
  constexpr std::string_view kCheckpoint = "checkpoint:";
  if (!value.starts_with(kCheckpoint)) return;
  work.on_term = SimWork::OnTerm::kCheckpoint;
  work.checkpoint = {number(value.substr(kCheckpoint.size()), 0)};
}

// Returns the speed of a task's work on the GPUs of its environment.
double speed_of(const TaskSpec& spec, const SimWork& work) {
  constexpr std::string_view kSpeed = "FAIRLEAD_SPEED=";
  double speed = 1;
  for (const std::string& variable : spec.environment) {
    if (variable.starts_with(kSpeed)) speed = parse_number(variable.substr(kSpeed.size())).value();
  }
  return std::pow(speed, static_cast<double>(work.power) / 100);
}

Duration work_in(Duration ran, double speed) {
  return {std::llround(static_cast<double>(ran.ms) * speed)};
}

// Returns the shortest time in which that work is done.
Duration time_for(Duration work, double speed) {
  return {static_cast<std::int64_t>(std::ceil(static_cast<double>(work.ms) / speed))};
}

}  // namespace

SimWork SimWork::of(const std::vector<std::string>& command) {
  SimWork work;
  if (command.size() < 2 || command[0] != "work") return work;
  work.work = {std::max<std::int64_t>(number(command[1], 1), 1)};
  for (std::size_t i = 2; i < command.size(); ++i) read_word(command[i], work);
  return work;
}

std::vector<std::string> SimWork::command() const {
  std::vector<std::string> words = {"work", std::to_string(work.ms),
                                    "every=" + std::to_string(every.ms)};
  if (code != 0) words.push_back("exit=" + std::to_string(code));
  if (times != kAlways) words.push_back("times=" + std::to_string(times));
  if (retries > 0) words.push_back("retries=" + std::to_string(retries));
  if (on_term == OnTerm::kIgnore) words.push_back("term=ignore");
  if (on_term == OnTerm::kForget) words.push_back("term=forget");
  if (on_term == OnTerm::kCheckpoint) {
    words.push_back("term=checkpoint:" + std::to_string(checkpoint.ms));
  }
  if (hangs) words.emplace_back("hang");
  if (is_brittle) words.emplace_back("brittle");
  if (power != 0) words.push_back("power=" + std::to_string(power));
  if (is_silent) words.emplace_back("silent");
  if (is_mute) words.emplace_back("mute");
  if (gradients_kb > 0) words.push_back("gradients=" + std::to_string(gradients_kb));
  if (failing_starts > 0) words.push_back("nostart=" + std::to_string(failing_starts));
  if (broken) words.push_back("broken=" + std::to_string(*broken));
  return words;
}

Status SimTasks::start(Time now, const TaskSpec& spec) {
  const TaskId id = spec.id;
  const SimWork work = SimWork::of(spec.command);
  if (tries_[id.job]++ < work.failing_starts) {
    // A daemon that crashes now has not counted it.
    ++lost_ends_[id.job];
    if (++bad_ends_[id.job] > work.retries) failed_jobs_.insert(id.job);
    return input_error("exit code 127: cannot run {}: No such file or directory",
                       spec.command.front());
  }
  if (!names_.insert(id).second) {
    problems_.push_back(fmt::format("job {} run {} is started twice", id.job.row(), id.run));
    return run_error("there is such a task");
  }
  if (ended_jobs_.contains(id.job)) {
    problems_.push_back(
        fmt::format("job {} run {} is started, but the job has ended", id.job.row(), id.run));
  }
  for (auto at = tasks_.lower_bound({id.job, 0}); at != tasks_.end() && at->first.job == id.job;
       ++at) {
    if (!at->second.is_alive()) continue;
    problems_.push_back(fmt::format("job {} run {} is started while run {} is alive", id.job.row(),
                                    id.run, at->first.run));
  }
  SimTask& task = tasks_[id];
  task = {.id = id, .uid = spec.uid, .gpus = spec.gpus, .work = work, .began = now};
  task.speed = speed_of(spec, work);
  task.done = kept_[id.job];
  if (work.broken && std::ranges::find(spec.gpus, *work.broken) != spec.gpus.end()) {
    task.work.work = task.done + kBrokenGpu;
    task.work.code = 1;
    task.work.times = SimWork::kAlways;
  }
  plan(task, own_end(task));
  return {};
}

void SimTasks::freeze(Time now, TaskId id) {
  SimTask* task = living(id);
  if (task == nullptr || !task->is_thawed()) return;
  settle(*task, now);
  task->state = SimTask::State::kFrozen;
  if (task->is_killed) return;  // that goes on
  const bool dies = task->work.is_brittle && rng_.below(2) == 0;
  plan(*task, dies ? now + kBrittle : Time::never());
}

void SimTasks::thaw(Time now, TaskId id) {
  SimTask* task = living(id);
  if (task == nullptr || task->is_thawed()) return;
  task->state = SimTask::State::kRunning;
  task->began = now;
  if (!task->is_killed) plan(*task, own_end(*task));
}

void SimTasks::interrupt(Time now, TaskId id) {
  SimTask* task = living(id);
  if (task == nullptr || task->is_killed) return;
  const bool was_frozen = !task->is_thawed();
  thaw(now, id);
  if (std::exchange(task->is_interrupted, true)) return;
  task->left_frozen = was_frozen;
  settle(*task, now);
  plan(*task, own_end(*task));
}

void SimTasks::kill(Time now, TaskId id) {
  SimTask* task = living(id);
  if (task == nullptr || std::exchange(task->is_killed, true)) return;
  if (!task->is_interrupted && task->uid != kNoUser) {
    problems_.push_back(
        fmt::format("job {} run {} is killed, and was not asked to end", id.job.row(), id.run));
  }
  const std::int64_t limit = rng_.below(50) == 0 ? kStuckMs : kKilledMs;
  plan(*task,
       now + Duration{static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(limit)))});
}

std::vector<TaskStatus> SimTasks::statuses() const {
  std::vector<TaskStatus> statuses;
  statuses.reserve(tasks_.size());
  for (const auto& [id, task] : tasks_) {
    statuses.push_back({id, task.state, task.is_interrupted, task.end});
  }
  return statuses;
}

void SimTasks::forget(TaskId id) {
  const auto at = tasks_.find(id);
  if (at == tasks_.end()) return;
  if (at->second.is_alive()) {
    problems_.push_back(fmt::format("job {} run {} is forgotten, but alive", id.job.row(), id.run));
    return;
  }
  tasks_.erase(at);
}

std::string SimTasks::progress(Time now, TaskId id) const {
  const SimTask* task = find(id);
  if (task == nullptr) return "";
  Duration done = task->done;
  if (task->is_thawed()) done += work_in(now - task->began, task->speed);
  if (done.ms < task->work.every.ms) return "";
  return fmt::format("{} {}", std::min(done.ms, task->work.work.ms), task->work.work.ms);
}

Time SimTasks::next() {
  while (!dues_.empty()) {
    const SimTask* task = find(dues_.top().task);
    if (task != nullptr && task->is_alive() && task->due == dues_.top().at) return task->due;
    dues_.pop();
  }
  return Time::never();
}

void SimTasks::advance(Time now, std::vector<TaskId>& ended) {
  while (next() <= now && next() != Time::never()) {
    SimTask& task = tasks_.at(dues_.top().task);
    dues_.pop();
    end_of_itself(task, task.due);
    ended.push_back(task.id);
  }
}

void SimTasks::lose_power(Time now) {
  std::vector<TaskId> lost;  // with every trace: their folders were not on the disk yet
  for (auto& [id, task] : tasks_) {
    if (task.is_alive()) {
      end(task, now, {.is_known = false});
    } else if (rng_.below(4) == 0) {
      if (task.end.is_known && task.ended_badly) ++lost_ends_[id.job];
      task.end = {.is_known = false};
      ended_jobs_.erase(id.job);
    }
    if (!task.end.is_known && rng_.below(8) == 0) lost.push_back(id);
  }
  for (const TaskId id : lost) {
    forget(id);
    names_.erase(id);  // may be used again
  }
}

void SimTasks::end_early(Time now, TaskId id, Duration soon, std::vector<TaskId>& ended) {
  SimTask* task = living(id);
  if (task == nullptr || !task->is_thawed() || task->is_interrupted || task->is_killed) return;
  if (task->due > now + soon) return;
  task->done = task->work.work;
  end_of_itself(*task, now);
  ended.push_back(id);
}

const SimTask* SimTasks::find(TaskId id) const {
  const auto at = tasks_.find(id);
  return at == tasks_.end() ? nullptr : &at->second;
}

std::uint32_t SimTasks::failed_starts(JobId job) const {
  const auto at = failed_starts_.find(job);
  return at == failed_starts_.end() ? 0 : at->second;
}

SimTask* SimTasks::living(TaskId id) {
  const auto at = tasks_.find(id);
  return at == tasks_.end() || !at->second.is_alive() ? nullptr : &at->second;
}

void SimTasks::plan(SimTask& task, Time due) {
  task.due = due;
  if (due != Time::never()) dues_.push({due, task.id});
}

void SimTasks::settle(SimTask& task, Time now) {
  if (task.is_thawed())
    task.done = std::min(task.done + work_in(now - task.began, task.speed), task.work.work);
  task.began = now;
}

void SimTasks::end_of_itself(SimTask& task, Time now) {
  settle(task, now);
  const bool is_whole =
      task.done.ms >= task.work.work.ms && !task.work.hangs && !task.is_killed && task.is_thawed();
  const JobId job = task.id.job;
  const int code = bad_ends_[job] < task.work.times ? task.work.code : 0;
  if (is_whole && code == 0) done_jobs_.insert(job);
  if (!task.is_interrupted && !task.is_killed) note_end(task, is_whole && code == 0);
  if (is_whole) return end(task, now, {.code = code});
  if (!task.is_killed && task.is_interrupted) {
    if (task.work.on_term == SimWork::OnTerm::kCheckpoint) kept_[task.id.job] = task.done;
    return end(task, now, {.signal = SIGTERM});
  }
  end(task, now, {.signal = SIGKILL});
}

// Notes a task's own end. After a loss of power, a daemon need not count an end that it was not notified of.
void SimTasks::note_end(SimTask& task, bool is_good) {
  const JobId job = task.id.job;
  task.ended_badly = !is_good;
  if (!is_good && ++bad_ends_[job] > task.work.retries) failed_jobs_.insert(job);
  if (is_good || bad_ends_[job] - lost_ends_[job] > task.work.retries) ended_jobs_.insert(job);
}

void SimTasks::end(SimTask& task, Time now, TaskEnd how) {
  settle(task, now);
  Duration& kept = kept_[task.id.job];
  kept = std::max(kept, Duration{task.done.ms / task.work.every.ms * task.work.every.ms});
  task.state = SimTask::State::kEnded;
  how.was_asked = task.is_interrupted && how.is_known;
  task.end = how;
  task.due = Time::never();
}

Time SimTasks::own_end(const SimTask& task) {
  const Duration left = std::max(time_for(task.work.work - task.done, task.speed), Duration{1});
  const Time whole = task.work.hangs ? Time::never() : task.began + left;
  if (!task.is_interrupted || task.work.on_term == SimWork::OnTerm::kIgnore) return whole;
  const bool dies = task.work.on_term == SimWork::OnTerm::kDie;
  return std::min(whole, task.began + (dies ? Duration{1} : task.work.checkpoint));
}

}  // namespace fairlead
