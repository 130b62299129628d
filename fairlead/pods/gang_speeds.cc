#include "fairlead/pods/gang_speeds.h"

#include "fairlead/measure/speed_reports.h"

#include <algorithm>

namespace fairlead {

const PodProgress* progress_of(const PodGang& gang) {
  const std::vector<const Pod*> pods = gang.members();
  const auto first =
      std::ranges::find_if(pods, [](const Pod* pod) { return pod->progress.has_value(); });
  return first == pods.end() ? nullptr : &*(*first)->progress;
}

std::vector<Event> GangSpeeds::news(const PodGang& gang, JobId job, RunId run) {
  const PodProgress* const progress = progress_of(gang);
  if (progress == nullptr) return {};
  const Owner& owner = gang.owner();
  const double per_gpu = progress->unit_per_s / (double{1} * owner.tasks * owner.task_gpus);
  const ModelUnit key{owner.name_space, owner.model, progress->progress.unit};
  const double reference = references_.try_emplace(key, per_gpu).first->second;
  const double speed = plausible(per_gpu / reference);
  Reported& reported = reported_[job];
  if (std::exchange(reported.run, run) != run) reported.speed = 0;
  if (!is_news(speed, reported.speed)) return {};
  reported.speed = speed;
  std::vector<Event> news = {
      {.kind = EventKind::kProgress, .job = job, .run = run, .rate = Rate::of(speed)}};
  if (const auto left = time_left(progress->progress, progress->unit_per_s, speed))
    news.push_back({.kind = EventKind::kReported, .job = job, .left = *left});
  return news;
}

}  // namespace fairlead
