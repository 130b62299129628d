#include "fairlead/replay/wait_totals.h"

#include "fairlead/base/overloaded.h"

namespace fairlead {

void WaitTotals::on(const Record& record) {
  if (record.t != now_) job_moments_ += waiting_;
  now_ = record.t;
  std::visit(Overloaded{
                 [&](const record::Arrived& arrived) {
                   Job& job = jobs_.grow_to(arrived.asked.job);
                   job.work = arrived.asked.work;
                   job.came = true;
                   job.since = now_;
                   ++waiting_;
                 },
                 [&](const record::Place& place) { change(place.job, true); },
                 [&](const OneOf<record::Stop, record::Evicted, record::StartFailed> auto& what) {
                   change(what.job, false);
                 },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   leave(what.job);
                 },
                 [&](const record::End&) {
                   for (Job& job : jobs_) settle(job);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void WaitTotals::settle(Job& job) {
  if (!job.since) return;
  const Duration length = now_ - *job.since;
  if (job.runs) {
    job.run_time += length;
  } else {
    job.waited += length;
    job.longest = std::max(job.longest, length);
  }
  job.since = now_;
}

void WaitTotals::change(JobId id, bool runs) {
  Job& job = jobs_[id];
  if (job.runs == runs) return;  // another copy starts or ends
  settle(job);
  job.runs = runs;
  waiting_ += runs ? -1 : 1;
}

void WaitTotals::leave(JobId id) {
  Job& job = jobs_[id];
  settle(job);
  if (!job.runs) --waiting_;
  job.since.reset();
  job.runs = false;
  job.ended = true;
}

Duration WaitTotals::waited() const {
  Duration waited;
  for (const Job& job : jobs_) waited += job.waited;
  return waited;
}

}  // namespace fairlead
