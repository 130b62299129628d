#include "fairlead/policy/kit/total_work.h"

namespace fairlead {

void TotalWork::apply_news(const View& view) {
  if (total_.size() < view.jobs.size()) total_.resize(view.jobs.size());
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kArrived) total_[event.job] = view.oracle->remaining(event.job);
    if (ends_job(event.kind)) total_[event.job] = {};
  }
}

void TotalWork::save(Writer& writer) const {
  for (JobId job : ids<JobId>(total_.size())) {
    if (total_[job].ms == 0) continue;
    writer.id(job);
    writer.i64(total_[job].ms);
  }
  writer.id(JobId::none());
}

void TotalWork::load(Reader& reader) {
  total_.clear();
  for (JobId job = reader.id<JobId>(); !job.is_none(); job = reader.id<JobId>()) {
    const Duration total{reader.i64()};
    if (!reader.ok() || total.ms <= 0) return reader.fail();
    total_.grow_to(job) = total;
  }
}

}  // namespace fairlead
