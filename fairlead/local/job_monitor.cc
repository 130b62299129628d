#include "fairlead/local/job_monitor.h"

#include "fairlead/base/time_text.h"
#include "fairlead/measure/profile_line.h"
#include "fairlead/measure/speed_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kLook = seconds(5);  // chosen: the pause between looks at jobs

// Reports a job that can save its work now, or cannot any more, to the engine. A job that may never move has been
// moved if its GPUs broke.
void report_pinned(const Jobs& jobs, JobId job, bool can_save, Inbox& inbox) {
  const std::uint32_t asked = jobs.extras_of(job).pinned;
  const bool is_pinned = asked == kPinnedAlways || !can_save;
  if (asked == kMayMove || is_pinned == jobs.keeps_no_work(job)) return;
  inbox.add({.kind = EventKind::kPinned, .job = job, .is_pinned = is_pinned});
}

// Returns the loss of a move by the progress before and after it, "from 1200 to 37 steps"; empty: none was seen. A short
// loss may be made up for by the time the speed is known.
std::string loss_text(const Progress& before, const Progress& after) {
  const bool is_same_count = after.unit == before.unit && after.total == before.total;
  if (!is_same_count || after.done >= before.done) return {};
  return fmt::format("from {:.0f} to {:.0f} {}", before.done, after.done,
                     after.unit.empty() ? "units" : after.unit);
}

// Reports the profile in a line of the hook, after the hook has measured the length of a step. Returns false before that.
// `per_gpu`: the relative speed of each of the task's GPUs.
bool report_profile(JobId job, double per_gpu, double gpus, const Sensors& sensors,
                    std::string_view line, Inbox& inbox) {
  const auto step_per_s = sensors.rate(Sensor::kHook);
  auto profile = parse_profile(line);
  if (!step_per_s || !profile) return false;
  const double speed = profile->samples > 0 ? per_gpu : per_gpu * gpus;
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  profile->step_us =
      static_cast<std::uint32_t>(std::clamp(std::round(1e6 * speed / *step_per_s), 1.0, kMost));
  inbox.add({.kind = EventKind::kProfiled, .job = job, .profile = *profile});
  return true;
}

}  // namespace

void JobMonitor::on_time(Time now) {
  if (gpus_.has_looked_at(now)) note_load(now);
  if (now < next_look_) return;
  next_look_ = now + kLook;
  for (const JobSet* jobs : {&tables_.running, &tables_.running_without_gpus}) {
    for (JobId id : jobs->members()) {
      LocalJob* const job = jobs_.find(id);
      if (job != nullptr && job->task && job->task->works) look_at(now, *job);
    }
  }
}

Time JobMonitor::deadline() const {
  const bool any =
      !tables_.running.members().empty() || !tables_.running_without_gpus.members().empty();
  return any ? next_look_ : Time::never();
}

void JobMonitor::look_at(Time now, LocalJob& job) {
  LocalTask& task = *job.task;
  const JobId id = task.id.job;
  if (task.began != Time::never() && now - task.began >= kAtOnce) {
    if (!task.gpus.empty()) gpus_.on_good(try_of(tables_, task));
    task.began = Time::never();
  }
  const TaskReports reports = io_.reports(task.id, task.sensors.output_next());
  const Jobs& jobs = tables_.jobs;
  task.sensors.look(now, reports);
  if (task.gpus.empty()) return;  // it never moves, and has no speed on GPUs
  const std::optional<Progress> done_now = task.sensors.of_job();
  if (job.left_at && done_now) {
    const Progress before = *std::exchange(job.left_at, std::nullopt);
    if (std::string loss = loss_text(before, *done_now); !loss.empty()) {
      job.what.lost = std::move(loss);
      jobs_.write(id, job.what);
    }
  }
  report_pinned(jobs, id, reports.can_save && job.what.lost.empty(), inbox_);
  if (!task.sensors.speed()) return;
  const std::string model =
      fmt::format("{}/{}", tables_.users.names[jobs.user[id]],
                  jobs.model[id].is_none() ? "" : tables_.models[jobs.model[id]]);
  const auto gpus = static_cast<double>(task.gpus.size());
  // Speed 1 is the reference on the gang that the job asks for.
  const double per_gpu = references_.relative(model, task.sensors, gpus);
  if (!task.told_profile)
    task.told_profile = report_profile(id, per_gpu, gpus, task.sensors, reports.steps, inbox_);
  const double rate = plausible(per_gpu * gpus / jobs.gpus[id]);
  if (!is_news(rate, task.told_rate)) return;
  task.told_rate = rate;
  inbox_.add({.kind = EventKind::kProgress, .job = id, .run = job.run, .rate = Rate::of(rate)});
  const Sensors::Done done = task.sensors.done().value();
  if (const auto left = time_left(done.progress, done.unit_per_s, rate))
    inbox_.add({.kind = EventKind::kReported, .job = id, .left = *left});
}

void JobMonitor::expect(std::span<Step> steps) const {
  for (auto step = steps.begin(); step != steps.end();) {
    // The copies of a job are neighbours in the list; one task has all of them.
    const auto end = std::find_if(step + 1, steps.end(), [&](const Step& other) {
      return other.kind != step->kind || other.job != step->job;
    });
    const LocalTask* const task = jobs_.task_of(step->job);
    if (step->kind == Step::Kind::kPlace && task != nullptr) {
      std::vector<std::uint32_t> gpus;
      for (const Step& copy : std::span(step, end)) {
        const auto more = machine_gpus(first_, copy.gang, copy.gpu_masks);
        gpus.insert(gpus.end(), more.begin(), more.end());
      }
      // Their rates add up.
      const Rate each = Rate::of(task->told_rate / static_cast<double>(end - step));
      if (task->gpus == gpus && task->told_rate > 0)
        std::for_each(step, end, [&](Step& copy) { copy.rate = each; });
    }
    step = end;
  }
}

// Adds the load of their GPUs to the tasks that work. Cancels the jobs that have left their GPUs idle for longer than
// their users accept.
void JobMonitor::note_load(Time now) {
  const std::span<const int> busy_percent = gpus_.busy_percent();
  const auto is_idle = [&](std::uint32_t gpu) {
    return gpu < busy_percent.size() && busy_percent[gpu] == 0;
  };
  for (auto& [id, job] : jobs_.all()) {
    if (!job.task || !job.task->works || job.task->gpus.empty()) continue;
    LocalTask& task = *job.task;
    for (const std::uint32_t gpu : task.gpus) {
      if (gpu < busy_percent.size())  // no stand-in
        task.sensors.add_load(busy_percent[gpu], gpus_.power_w()[gpu]);
    }
    if (!std::ranges::all_of(task.gpus, is_idle)) {
      task.idle_since = Time::never();
    } else if (task.idle_since == Time::never()) {
      task.idle_since = now;
    }
    const Duration limit = job.what.idle_end;
    if (limit.ms == 0 || idle(id, now) < limit || !tables_.jobs.is_here(id)) continue;
    inbox_.add({.kind = EventKind::kCancelled,
                .job = id,
                .reason = inbox_.keep("its GPUs were idle for " + span_text(limit.ms))});
  }
}

Duration JobMonitor::idle(JobId job, Time now) const {
  const LocalTask* const task = jobs_.task_of(job);
  if (task == nullptr) return {};
  const Time since = task->idle_since;
  return since == Time::never() || now - since < kIdleMin ? Duration() : now - since;
}

}  // namespace fairlead
