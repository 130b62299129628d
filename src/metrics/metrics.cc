#include "fairlead/metrics/metrics.h"

#include <algorithm>

namespace fairlead {

Metrics::Metrics(TimelineOptions timeline) : timeline_(timeline) {}

void Metrics::on(const Record& record) {
  advance(record.t);
  switch (record.kind) {
    case RecordKind::kRun:
      return on_run(record);
    case RecordKind::kUser:
      return on_user(record);
    case RecordKind::kNode:
      return on_node(record);
    case RecordKind::kArrived:
      return on_arrived(record);
    case RecordKind::kRejected:
      ++users_[record.user].jobs;
      return jobs_.reject(record);
    case RecordKind::kFinished:
      return on_leave(record, JobStatus::kFinished);
    case RecordKind::kFailed:
    case RecordKind::kCancelled:
      return on_leave(record, JobStatus::kFailed);
    case RecordKind::kEvicted:
      return on_hold_end(record);
    case RecordKind::kNodeDown:
    case RecordKind::kNodeUp:
      return on_node_change(record, record.kind == RecordKind::kNodeUp);
    case RecordKind::kStop:
      ++jobs_.preemptions[record.job];
      ++preemptions_;
      return on_hold_end(record);
    case RecordKind::kPlace:
      return on_place(record);
    case RecordKind::kSpeed:
      return add_service(record.job, jobs_.change_rate(record.job, record.t, record.rate));
    case RecordKind::kNote:
      return;
    case RecordKind::kUnsubmitted:
      return on_unsubmitted(record);
    case RecordKind::kEnd:
      return on_end(record);
  }
}

void Metrics::advance(Time t) {
  if (t == now_) return;
  timeline_.advance(t, shares_);
  const Duration elapsed = t - now_;
  if (timeline_.begun()) capacity_ += occupancy(elapsed, gpus_up_);
  unfinished_ms_ += Int128{elapsed.ms} * unfinished_;
  now_ = t;
}

void Metrics::on_run(const Record& record) {
  label_.seed = record.seed;
  label_.count = record.count;
  constexpr std::size_t kLabels = 4;
  FL_CHECK(record.names.size() >= kLabels, "{} names", record.names.size());
  run_names_.assign(record.names.begin(), record.names.begin() + kLabels);
  gpu_types_.assign(record.names.begin() + kLabels, record.names.end());
  jobs_.reserve(record.count);
  unfinished_ms_at_submit_.resize(record.count);
}

void Metrics::on_user(const Record& record) {
  shares_.add_user(record.tickets);
  timeline_.add_user();
  users_.push_back({record.tickets, 0, {}});
  user_names_.emplace_back(record.name);
}

void Metrics::on_node(const Record& record) {
  node_type_.push_back(record.type);
  node_host_.push_back(record.host);
  node_rack_.push_back(record.rack);
  node_gpus_.push_back(record.count);
  gpus_ += record.count;
  gpus_up_ += record.count;
  shares_.set_gpus(record.t, gpus_up_);
}

void Metrics::on_node_change(const Record& record, bool up) {
  const std::int64_t gpus = node_gpus_[record.node];
  gpus_up_ += up ? gpus : -gpus;
  shares_.set_gpus(record.t, gpus_up_);
}

void Metrics::on_arrived(const Record& record) {
  if (!timeline_.begun()) {
    first_arrival_ = record.t;
    timeline_.begin(record.t);
  }
  jobs_.arrive(record, JobStatus::kPending);
  unfinished_ms_at_submit_[record.job] = unfinished_ms_;
  ++unfinished_;
  ++users_[record.user].jobs;
  shares_.add_demand(record.t, record.user, record.gpus);
  timeline_.change(record.t, record.user, {.gpus_held = 0, .running = 0, .waiting = 1});
}

void Metrics::on_place(const Record& record) {
  TypeMask types = 0;
  for (Slice slice : record.gang) types |= type_bit(node_type_[slice.node]);
  jobs_.place(record, types);
  ++placements_[static_cast<std::size_t>(tier_of(record.gang, node_host_, node_rack_))];
  const int jobs = record.copy == 0 ? 1 : 0;
  timeline_.change(record.t, jobs_.user[record.job],
                   {.gpus_held = gpus_of(record.gang), .running = jobs, .waiting = -jobs});
}

void Metrics::on_hold_end(const Record& record) {
  const std::int64_t gpus = jobs_.held_gpus(record.job);
  add_service(record.job, jobs_.end_hold(record.job, record.t, record.lost));
  timeline_.change(record.t, jobs_.user[record.job],
                   {.gpus_held = -gpus, .running = -1, .waiting = 1});
}

void Metrics::add_service(JobId job, const Service& service) {
  users_[jobs_.user[job]].held += service.held;
  held_ += service.held;
  busy_ += service.busy;
  lost_gpu_ms_ += service.lost_gpu_ms;
}

void Metrics::on_leave(const Record& record, JobStatus as) {
  const JobId job = record.job;
  if (jobs_.holds(job)) on_hold_end(record);
  jobs_.leave(job, record.t, as);
  const UserId user = jobs_.user[job];
  shares_.add_demand(record.t, user, -std::int64_t{jobs_.gpus[job]});
  timeline_.change(record.t, user, {.gpus_held = 0, .running = 0, .waiting = -1});
  --unfinished_;
  last_leave_ = record.t;
  capacity_at_leave_ = capacity_;
  if (as == JobStatus::kFinished) count_ftf(job);
}

// Finish-time fairness (Mahajan et al., Themis, NSDI 2020) against an equal share of the cluster.
void Metrics::count_ftf(JobId job) {
  const auto life_ms = static_cast<double>((jobs_.finish[job] - jobs_.submit[job]).ms);
  const Int128 unfinished_ms = unfinished_ms_ - unfinished_ms_at_submit_[job];
  const double contenders = static_cast<double>(unfinished_ms) / life_ms;
  const double share = static_cast<double>(gpus_) / contenders;
  const double slowdown = std::max(1.0, static_cast<double>(jobs_.gpus[job]) / share);
  const double ftf = life_ms / (static_cast<double>(jobs_.work[job].ms) * slowdown);
  ftf_sum_ += ftf;
  ftf_max_ = std::max(ftf_max_, ftf);
}

void Metrics::on_end(const Record& record) {
  counts_ = record.counts;
  journal_end_ = record.t;
  const bool cut_off = record.counts.pending > 0;
  const Time end = cut_off ? record.t : last_leave_;
  timeline_.finish(record.t, end, shares_);
  if (!cut_off) capacity_ = capacity_at_leave_;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.holds(job)) add_service(job, jobs_.end_hold(job, record.t));
  }
}

void Metrics::on_unsubmitted(const Record& record) {
  jobs_.arrive(record, JobStatus::kUnsubmitted);
  jobs_.submit[record.job] = record.submit;
  ++users_[record.user].jobs;
}

}  // namespace fairlead
