// Measures the speed of jobs, and finds out which jobs can save their work.

#include "fairlead/local/local_backend.h"
#include "fairlead/measure/profile_line.h"
#include "fairlead/measure/speed_reports.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

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

void LocalBackend::look(Time now) {
  next_look_ = now + kLook;
  for (JobId id : tables_.running.members()) {
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && job->second.task && job->second.task->works) {
      look_at(now, id, job->second);
    }
  }
}

void LocalBackend::look_at(Time now, JobId id, Job& job) {
  Task& task = *job.task;
  if (task.began != Time::never() && now - task.began >= kAtOnce) {
    gpus_.on_good(try_of(id, task));
    task.began = Time::never();
  }
  const TaskReports reports = io_.reports(task.id, task.sensors.output_next());
  const Jobs& jobs = tables_.jobs;
  task.sensors.look(now, reports);
  const std::optional<Progress> done_now = task.sensors.of_job();
  if (job.left_at && done_now) {
    const Progress before = *std::exchange(job.left_at, std::nullopt);
    if (std::string loss = loss_text(before, *done_now); !loss.empty()) {
      job.what.lost = std::move(loss);
      const Status status = io_.write(submission_file(id), submission_text(job.what));
      if (!status) disk_ = status;
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

void LocalBackend::expect(std::span<Step> steps) const {
  for (auto step = steps.begin(); step != steps.end();) {
    // The copies of a job are neighbours in the list; one task has all of them.
    const auto end = std::find_if(step + 1, steps.end(), [&](const Step& other) {
      return other.kind != step->kind || other.job != step->job;
    });
    const auto job = jobs_.find(step->job);
    if (step->kind == Step::Kind::kPlace && job != jobs_.end() && job->second.task) {
      const Task& task = *job->second.task;
      std::vector<std::uint32_t> gpus;
      for (const Step& copy : std::span(step, end)) {
        const auto more = machine_gpus(first_gpus_, copy.gang, copy.gpu_masks);
        gpus.insert(gpus.end(), more.begin(), more.end());
      }
      // Their rates add up.
      const Rate each = Rate::of(task.told_rate / static_cast<double>(end - step));
      if (task.gpus == gpus && task.told_rate > 0)
        std::for_each(step, end, [&](Step& copy) { copy.rate = each; });
    }
    step = end;
  }
}

const Sensors* LocalBackend::sensors(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || !found->second.task ? nullptr : &found->second.task->sensors;
}

}  // namespace fairlead
