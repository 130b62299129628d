#include "fairlead/journal/work_audit.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

namespace fairlead {

void WorkAudit::on(const Record& record) {
  now_ = std::max(now_, record.t);
  std::visit(Overloaded{
                 [&](const record::Arrived& arrived) {
                   const JobSpec& asked = arrived.asked;
                   if (asked.job.is_none() || asked.job.row() >= kAuditedJobsMax) return;
                   jobs_.grow_to(asked.job) = {.is_exact = asked.work.ms > 0,
                                               .left = reference_work(asked.work)};
                 },
                 [&](const record::Place& place) { on_place(place); },
                 [&](const record::Stop& stop) { on_stop(stop.job, {}); },
                 [&](const record::Evicted& evicted) { on_stop(evicted.job, evicted.lost); },
                 [&](const record::Speed& speed) { on_speed(speed); },
                 [&](const record::Finished& finished) { on_done(finished.job, true); },
                 [&](const OneOf<record::Failed, record::Cancelled> auto& failed) {
                   on_done(failed.job, false);
                 },
                 [&](const record::End&) { on_end(); },
                 [](const auto&) {},
             },
             record.what);
}

WorkAudit::AuditedJob* WorkAudit::running(JobId job) {
  return jobs_.has(job) && jobs_[job].is_exact && jobs_[job].runs ? &jobs_[job] : nullptr;
}

void WorkAudit::settle(AuditedJob& job) const {
  if (now_ <= job.progress_from) return;
  job.left = job.left - progress(job.rate, now_ - job.progress_from);
  job.progress_from = now_;
}

void WorkAudit::on_place(const record::Place& place) {
  if (!jobs_.has(place.job)) return;
  AuditedJob& job = jobs_[place.job];
  if (place.is_reported) job.is_exact = false;
  if (place.copy == 0) {
    job.rate = {};
    job.speed_at = Time::never();
    job.progress_from = now_;
  }
  job.runs = true;
  job.rate.fixed += place.rate.fixed;
  job.progress_from = std::max(job.progress_from, now_ + place.overhead);
}

void WorkAudit::on_stop(JobId id, Duration lost) {
  AuditedJob* const job = running(id);
  if (job == nullptr) return;
  const Work undone =
      rates_.done_in_last(id, lost, {.from = job->progress_from, .to = now_, .rate = job->rate});
  settle(*job);
  job->left += undone;
  if (job->rate.fixed > 0 && job->left.fixed <= 0) {
    problem("job {} is stopped, but its work is done", id.row());
  }
  rates_.clear(id);
  job->runs = false;
}

void WorkAudit::on_speed(const record::Speed& speed) {
  AuditedJob* const job = running(speed.job);
  if (job == nullptr) return;
  if (job->speed_at == now_)
    problem("job {} changes its speed twice at one instant", speed.job.row());
  job->speed_at = now_;
  if (now_ > job->progress_from) {
    rates_.add(speed.job, {.from = job->progress_from, .to = now_, .rate = job->rate});
  }
  settle(*job);
  job->rate = speed.rate;
}

void WorkAudit::on_done(JobId id, bool finished) {
  AuditedJob* const job = running(id);
  if (job == nullptr) {
    if (finished && jobs_.has(id) && jobs_[id].is_exact) {
      problem("job {} finishes without a gang", id.row());
    }
    return;
  }
  settle(*job);
  if (finished && job->rate.fixed > 0 &&
      (job->left.fixed > 0 || job->left.fixed <= -Int128{job->rate.fixed})) {
    // A job may do less than one millisecond of excess work, because time is in whole milliseconds.
    problem("job {} finishes with {} ms of work left", id.row(),
            static_cast<std::int64_t>(job->left.fixed / Rate::kOne));
  }
  rates_.clear(id);
  job->runs = false;
}

void WorkAudit::on_end() {
  for (JobId id : ids<JobId>(jobs_.size())) {
    AuditedJob* const job = running(id);
    if (job == nullptr) continue;
    settle(*job);
    if (job->rate.fixed > 0 && job->left.fixed <= 0) {
      problem("job {} is lost: its work is done, but it did not finish", id.row());
    }
  }
}

}  // namespace fairlead
