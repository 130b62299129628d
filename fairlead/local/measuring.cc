// Measures the speed of jobs that report their progress.

#include "fairlead/local/local_backend.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

// Chosen: the pause between looks at jobs, and the change of a speed that is worth a record.
constexpr Duration kLook = seconds(5);
constexpr double kRateStep = 0.05;
constexpr double kRateMax = 1000;  // limit of speed / reference speed; larger ones are implausible

const std::string kReferences = "references.json";

}  // namespace

void LocalBackend::read_references() {
  const auto text = io_.read(kReferences);
  const auto json = nlohmann::json::parse(text ? *text : "{}", nullptr, false);
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number() && value.get<double>() > 0) references_[key] = value.get<double>();
  }
}

double LocalBackend::reference(JobId id, double per_gpu) {
  const Jobs& jobs = tables_.jobs;
  const std::string key =
      fmt::format("{}/{}", tables_.users.names[jobs.user[id]],
                  jobs.model[id].is_none() ? "" : tables_.models[jobs.model[id]]);
  const auto [found, is_new] = references_.try_emplace(key, per_gpu);
  // If it cannot be kept, a daemon that starts again measures it again.
  if (is_new) (void)io_.write(kReferences, nlohmann::json(references_).dump());
  return found->second;
}

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
  const auto progress = parse_progress(io_.progress(task.id));
  if (!progress) return;
  task.meter.told(now, *progress);
  const std::optional<double> speed = task.meter.rate();
  if (!speed || *speed <= 0) return;
  const double one = reference(id, *speed / static_cast<double>(task.gpus.size())) *
                     tables_.jobs.gpus[id];  // the speed of its reference gang
  const double rate = std::min(*speed / one, kRateMax);
  if (task.told_rate > 0 && std::abs(rate / task.told_rate - 1) < kRateStep) return;
  task.told_rate = rate;
  inbox_.add({.kind = EventKind::kProgress, .job = id, .run = job.run, .rate = Rate::of(rate)});
  if (progress->total <= progress->done) return;
  const double left_s = std::min((progress->total - progress->done) / one, 1e9);
  inbox_.add({.kind = EventKind::kReported,
              .job = id,
              .left = {std::max<std::int64_t>(1, std::llround(left_s * 1000))}});
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

std::optional<LocalBackend::Told> LocalBackend::told(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.task || !found->second.task->meter.last()) {
    return std::nullopt;
  }
  const Meter& meter = found->second.task->meter;
  return Told{*meter.last(), meter.rate().value_or(0)};
}

}  // namespace fairlead
