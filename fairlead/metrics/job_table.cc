#include "fairlead/metrics/job_table.h"

#include <algorithm>

namespace fairlead {

void TextColumn::set(JobId job, std::string_view text) {
  if (!spans_.has(job)) spans_.resize(job.row() + std::size_t{1});
  spans_[job] = {bytes_.size(), static_cast<std::uint32_t>(text.size())};
  bytes_.append(text);
}

void SharedTextColumn::set(JobId job, std::string_view text) {
  if (text.empty()) return;
  auto found = row_of_.find(text);
  if (found == row_of_.end()) {
    texts_.emplace_back(text);
    found = row_of_.emplace(text, static_cast<std::uint32_t>(texts_.size() - 1)).first;
  }
  rows_[job] = found->second;
}

std::string_view job_status_name(JobStatus status) {
  switch (status) {
    case JobStatus::kUnseen:
      return "";
    case JobStatus::kPending:
    case JobStatus::kUnsubmitted:
      return "pending";
    case JobStatus::kFinished:
      return "finished";
    case JobStatus::kFailed:
      return "failed";
    case JobStatus::kRejected:
      return "rejected";
  }
  return "";
}

void JobTable::reserve(std::size_t jobs) {
  names.reserve(jobs);
  grow_to(jobs);
}

void JobTable::grow_to(std::size_t jobs) {
  if (jobs <= size()) return;
  status.resize(jobs, JobStatus::kUnseen);
  user.resize(jobs);
  gpus.resize(jobs);
  work.resize(jobs);
  submit.resize(jobs);
  start.resize(jobs, Time::never());
  finish.resize(jobs, Time::never());
  first_overhead.resize(jobs);
  run_time.resize(jobs);
  preemptions.resize(jobs);
  migrations.resize(jobs);
  lost_gpu_ms.resize(jobs);
  done_.resize(jobs);
  runs_.resize(jobs);
  types_.resize(jobs);
  models.resize(jobs);
}

void JobTable::arrive(const JobSpec& asked, Time t, JobStatus as) {
  const JobId job = asked.job;
  grow_to(job.row() + std::size_t{1});
  FL_CHECK(status[job] == JobStatus::kUnseen, "job {} arrived twice", job.row());
  names.set(job, asked.name);
  status[job] = as;
  user[job] = asked.user;
  gpus[job] = asked.gpus;
  work[job] = asked.work;
  submit[job] = t;
  models.set(job, asked.model);
}

void JobTable::reject(const record::Rejected& rejected, Time t) {
  arrive(rejected.asked, t, JobStatus::kRejected);
  ++reasons_[std::string(rejected.reason)];
}

void JobTable::place(const record::Place& place, Time t, TypeMask types) {
  const JobId job = place.job;
  JobRun& run = runs_[job];
  const std::uint32_t added = gpus_of(place.gang);
  const Time works_from = place.is_reported ? Time::never() : t + place.overhead;
  types_[job] |= types;
  if (place.copy > 0) {
    FL_CHECK(run.since == t, "job {}: a copy comes later", job.row());
    run.works_from = std::max(run.works_from, works_from);
    // Averages the copies' localities by GPUs.
    const double locality = run.gpus * run.locality() + added * place.locality.value();
    run.gpus += added;
    run.rate.fixed += place.rate.fixed;
    run.unhindered = run.rate.value() * run.gpus / locality;
    if (is_first_run(job)) first_overhead[job] = run.works_from - t;
    return;
  }
  FL_CHECK(!has_gpus(job), "job {} has a gang already", job.row());
  FL_CHECK(status[job] == JobStatus::kPending && added > 0, "job {} is placed on {} GPUs",
           job.row(), added);
  run = {.since = t,
         .works_from = works_from,
         .rate = place.rate,
         .unhindered = place.rate.value() / place.locality.value(),
         .gpus = added};
  if (start[job] == Time::never()) {
    start[job] = t;
    first_overhead[job] = works_from - t;
  }
  if (place.kind == PlaceKind::kMigrate) ++migrations[job];
}

void JobTable::start_work(JobId job, Time t) {
  FL_CHECK(has_gpus(job), "job {} has no GPUs", job.row());
  runs_[job].works_from = t;
  if (is_first_run(job)) first_overhead[job] = t - start[job];
}

Service JobTable::change_rate(JobId job, Time t, Rate rate) {
  FL_CHECK(has_gpus(job), "job {} has no GPUs", job.row());
  JobRun& run = runs_[job];
  FL_DCHECK(t >= run.since, "job {}: {} ms is before {} ms", job.row(), t.ms, run.since.ms);
  Service service{};
  if (t > run.works_from) {
    const Duration worked = t - run.works_from;
    service.worked = worked;
    service.done = progress(run.rate, worked);
    done_[job] += service.done;
    if (rate != run.rate) rates_.add(job, {.from = run.works_from, .to = t, .rate = run.rate});
    run.works_from = t;
    service.busy = occupancy(worked, run.gpus);
    service.lost_gpu_ms = static_cast<double>(service.busy.gpu_ms) * (1.0 - run.locality());
    lost_gpu_ms[job] += service.lost_gpu_ms;
  }
  run.rate = rate;
  return service;
}

Service JobTable::end_run(JobId job, Time t, Duration lost) {
  FL_CHECK(has_gpus(job), "job {} has no GPUs", job.row());
  JobRun& run = runs_[job];
  const Work undone =
      rates_.done_in_last(job, lost, {.from = run.works_from, .to = t, .rate = run.rate});
  Service service = change_rate(job, t, run.rate);
  service.allocated = occupancy(t - run.since, run.gpus);
  run_time[job] += t - run.since;
  service.undone = std::min(undone, done_[job]);
  done_[job] = done_[job] - service.undone;
  if (is_first_run(job)) first_overhead[job] = std::min(first_overhead[job], t - run.since);
  rates_.clear(job);
  run.gpus = 0;
  return service;
}

void JobTable::leave(JobId job, Time t, JobStatus as) {
  FL_CHECK(status[job] == JobStatus::kPending && !has_gpus(job), "job {} cannot leave", job.row());
  FL_CHECK(as == JobStatus::kFinished || as == JobStatus::kFailed, "job {}", job.row());
  finish[job] = t;
  status[job] = as;
}

Work JobTable::done(JobId job) const {
  const Work all = reference_work(work[job]);
  return status[job] == JobStatus::kFinished ? all : std::min(all, done_[job]);
}

std::string JobTable::gpu_types(JobId job, const std::vector<std::string>& type_names) const {
  std::string joined;
  for (GpuTypeId type : ids<GpuTypeId>(type_names.size())) {
    if ((types_[job] & type_bit(type)) == 0) continue;
    if (!joined.empty()) joined += '+';
    joined += type_names[type.row()];
  }
  return joined;
}

}  // namespace fairlead
