#include "fairlead/journal/impossible.h"

#include "fairlead/base/overloaded.h"

namespace fairlead {
namespace {

constexpr std::string_view kDuration = "a duration out of range";
constexpr std::string_view kRate = "a negative rate";

bool in_range(auto time) { return time.ms >= 0 && time.ms <= kTimeMax.ms; }

std::string_view impossible_place(const record::Place& place) {
  if (static_cast<std::size_t>(place.kind) >= kPlaceKinds) return "unknown kind of placement";
  if (!in_range(place.overhead)) return kDuration;
  return place.rate.fixed >= 0 && place.locality.fixed >= 0 ? "" : kRate;
}

std::string_view impossible_job(const JobSpec& asked) {
  if (!in_range(asked.work) || !in_range(asked.time_limit)) return kDuration;
  if (asked.logged_start != Time::never() && !in_range(asked.logged_start))
    return "a start out of range";
  const bool in_tasks = asked.gpus % asked.task_gpus == 0 &&
                        asked.gpus_min % asked.task_gpus == 0 &&
                        asked.gpus_max % asked.task_gpus == 0;
  return in_tasks ? "" : "tasks that do not divide the gang";
}

}  // namespace

std::string_view impossible(const Record& record) {
  using Wrong = std::string_view;
  return std::visit(
      Overloaded{
          [](const OneOf<record::Arrived, record::Rejected> auto& job) -> Wrong {
            return impossible_job(job.asked);
          },
          [](const record::Unsubmitted& unsubmitted) -> Wrong {
            if (!in_range(unsubmitted.submit)) return "a submission out of range";
            return impossible_job(unsubmitted.asked);
          },
          [](const record::Evicted& evicted) -> Wrong {
            return in_range(evicted.lost) ? "" : kDuration;
          },
          [](const record::Place& place) -> Wrong { return impossible_place(place); },
          [](const record::Reported& reported) -> Wrong {
            return reported.left.ms > 0 ? "" : "a job reports that it has nothing left";
          },
          [](const record::Carried& carried) -> Wrong {
            if (carried.attained < GpuTime{}) return "a job has been served less than nothing";
            return in_range(carried.done) ? "" : kDuration;
          },
          [](const record::Speed& speed) -> Wrong { return speed.rate.fixed >= 0 ? "" : kRate; },
          [](const record::Started& started) -> Wrong {
            return in_range(started.overhead) ? "" : kDuration;
          },
          [](const record::StartFailed& failed) -> Wrong {
            return in_range(failed.retry) ? "" : "a retry out of range";
          },
          [](const record::Stop& stop) -> Wrong {
            return stop.cause <= record::StopCause::kHeld ? "" : "unknown cause of a stop";
          },
          [](const record::Ignored& ignored) -> Wrong {
            return static_cast<std::size_t>(ignored.event) < kEventKinds ? "" : "unknown event";
          },
          [](const auto&) -> Wrong { return {}; },
      },
      record.what);
}

}  // namespace fairlead
