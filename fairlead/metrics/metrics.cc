#include "fairlead/metrics/metrics.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/metrics/bounds.h"
#include "fairlead/metrics/quantile.h"

#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

namespace fairlead {

Metrics::Metrics(TimelineOptions timeline) : timeline_(timeline) {}

void Metrics::on(const Record& record) {
  advance(record.t);
  std::visit(
      Overloaded{
          [&](const record::Run& run) { on_run(run); },
          [&](const record::Group& group) { users_.add_group(group); },
          [&](const record::User& user) {
            users_.add_user(user);
            timeline_.add_user();
          },
          [&](const record::Node& node) { on_node(node); },
          [&](const record::Arrived& arrived) { on_arrived(arrived.asked); },
          [&](const record::Rejected& rejected) {
            users_.count_job(rejected.asked.user);
            jobs_.reject(rejected, now_);
          },
          [&](const record::Finished& finished) { on_leave(finished.job, JobStatus::kFinished); },
          [&](const OneOf<record::Failed, record::Cancelled> auto& failed) {
            on_leave(failed.job, JobStatus::kFailed);
          },
          [&](const record::Evicted& evicted) { on_job_run_end(evicted.job, evicted.lost); },
          [&](const record::StartFailed& failed) { on_start_failed(failed.job); },
          [&](const ChangesUsableGpus auto& change) {
            nodes_.gpus.on(change);
            users_.set_gpus(now_, nodes_.gpus.total());
          },
          [&](const record::Stop& stop) { on_stop(stop); },
          [&](const record::Place& place) { on_place(place); },
          [&](const record::Started& started) { jobs_.start_work(started.job, now_); },
          [&](const record::Held& held) { hold_back(held.job); },
          [&](const record::Released& released) { release(released.job); },
          [&](const record::Tickets& tickets) { users_.set_tickets(now_, tickets); },
          [&](const record::StopFailed&) { ++counted_.open_world.stops_failed; },
          [&](const record::Ignored&) { ++counted_.open_world.events_ignored; },
          [&](const record::Skipped&) { ++counted_.open_world.skips; },
          [&](const record::Speed& speed) {
            add_service(speed.job, jobs_.change_rate(speed.job, now_, speed.rate));
          },
          [&](const record::Unsubmitted& unsubmitted) {
            users_.count_job(unsubmitted.asked.user);
            jobs_.arrive(unsubmitted.asked, unsubmitted.submit, JobStatus::kUnsubmitted);
          },
          [&](const record::End& end) { on_end(end.counts); },
          [](const auto&) {},
      },
      record.what);
}

void Metrics::advance(Time t) {
  if (t == now_) return;
  timeline_.advance(t, users_.shares());
  users_.advance(now_);
  const Duration elapsed = t - now_;
  if (timeline_.is_started()) capacity_ += occupancy(elapsed, nodes_.gpus.total());
  ftf_.advance(elapsed);
  now_ = t;
}

void Metrics::on_run(const record::Run& run) {
  counted_.seed = run.seed;
  counted_.policy = run.policy;
  counted_.options = run.options;
  counted_.cluster = run.cluster;
  counted_.trace = run.trace;
  gpu_types_.assign(run.gpu_types.begin(), run.gpu_types.end());
  jobs_.reserve(run.jobs);
  users_.reserve(run.jobs);
  ftf_.reserve(run.jobs);
}

void Metrics::on_node(const record::Node& node) {
  nodes_.type.push_back(node.type);
  nodes_.host.push_back(node.host);
  nodes_.rack.push_back(node.rack);
  nodes_.gpus.on(node);
  users_.set_gpus(now_, nodes_.gpus.total());
}

void Metrics::on_arrived(const JobSpec& asked) {
  if (!timeline_.is_started()) {
    first_arrival_ = now_;
    timeline_.begin(now_);
  }
  jobs_.arrive(asked, now_, JobStatus::kPending);
  ftf_.arrive(asked.job);
  logged_.arrive(asked);
  users_.count_job(asked.user);
  ask(asked.job);
}

void Metrics::ask(JobId job) {
  users_.add_demand(now_, jobs_.user[job], jobs_.gpus[job]);
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = 0, .running = 0, .waiting = 1});
}

void Metrics::ask_no_more(JobId job) {
  users_.add_demand(now_, jobs_.user[job], -std::int64_t{jobs_.gpus[job]});
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = 0, .running = 0, .waiting = -1});
}

// A job that waits for its retry may also be held by its user.
void Metrics::hold_back(JobId job) {
  if (held_back_.insert(job).second) ask_no_more(job);
}

void Metrics::release(JobId job) {
  if (held_back_.erase(job) > 0) ask(job);
}

void Metrics::on_place(const record::Place& place) {
  TypeMask types = 0;
  for (Slice slice : place.gang) types |= type_bit(nodes_.type[slice.node]);
  jobs_.place(place, now_, types);
  ++counted_.placements[static_cast<std::size_t>(tier_of(place.gang, nodes_.host, nodes_.rack))];
  const int jobs = place.copy == 0 ? 1 : 0;
  timeline_.change(now_, jobs_.user[place.job],
                   {.gpus_allocated = gpus_of(place.gang), .running = jobs, .waiting = -jobs});
}

void Metrics::on_stop(const record::Stop& stop) {
  const bool is_preemption = !is_by_user(stop.cause);
  jobs_.preemptions[stop.job] += is_preemption;
  counted_.preemptions += is_preemption;
  on_job_run_end(stop.job, {});
}

void Metrics::on_start_failed(JobId job) {
  ++counted_.open_world.starts_failed;
  on_job_run_end(job, {});
  hold_back(job);
}

void Metrics::on_job_run_end(JobId job, Duration lost) {
  const std::int64_t gpus = jobs_.allocated_gpus(job);
  add_service(job, jobs_.end_run(job, now_, lost), lost);
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = -gpus, .running = -1, .waiting = 1});
}

void Metrics::add_service(JobId job, const Service& service, Duration lost) {
  users_.add_service(now_, jobs_.user[job], job, service, lost);
  allocated_ += service.allocated;
  busy_ += service.busy;
  lost_gpu_ms_ += service.lost_gpu_ms;
  any_work_is_lost_ |= lost > Duration{};
}

void Metrics::on_leave(JobId job, JobStatus as) {
  if (jobs_.has_gpus(job)) on_job_run_end(job, {});
  jobs_.leave(job, now_, as);
  if (held_back_.erase(job) == 0) ask_no_more(job);
  ftf_.leave();
  last_leave_ = now_;
  capacity_at_leave_ = capacity_;
  if (as != JobStatus::kFinished) return;
  ftf_.finish(jobs_, job, nodes_.gpus.installed());
  logged_.finish(jobs_, job);
}

void Metrics::on_end(const JobCounts& counts) {
  counted_.finished = counts.finished;
  counted_.failed = counts.failed;
  counted_.rejected = counts.rejected;
  counted_.pending = counts.pending;
  counted_.jobs_read = counts.finished + counts.failed + counts.rejected + counts.pending;
  counted_.open_world.held = std::ssize(held_back_);
  const bool cut_off = counts.pending > 0;
  timeline_.finish(now_, cut_off ? now_ : last_leave_, users_.shares());
  if (!cut_off) capacity_ = capacity_at_leave_;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.has_gpus(job)) add_service(job, jobs_.end_run(job, now_));
  }
}

Summary Metrics::summary(const RunFacts& facts) const {
  Summary summary = counted_;
  summary.journal_hash = facts.journal_hash;
  summary.racks = facts.racks;
  summary.rows_read = facts.rows.rows_read;
  summary.rows_rejected = facts.rows.rows_rejected;
  summary.rows_repaired = facts.rows.rows_repaired;
  summary.rows_skipped = facts.rows.rows_skipped;
  summary.assumed = facts.assumed;
  summary.jobs_rejected = jobs_.rejected_by_reason();
  summary.models_unknown = facts.models_unknown;
  summary.models_communicating = facts.models_communicating;
  summary.settings = facts.settings;
  summary.cost = facts.costs.total;
  summary.gpu_hours = to_gpu_hours(allocated_);
  if (capacity_.gpu_ms > 0) {
    summary.gpu_utilization =
        static_cast<double>(allocated_.gpu_ms) / static_cast<double>(capacity_.gpu_ms);
  }
  if (busy_.gpu_ms > 0) {
    summary.comm_time_share = lost_gpu_ms_ / static_cast<double>(busy_.gpu_ms);
  }
  for (std::uint32_t migrations : jobs_.migrations) summary.migrations += migrations;
  sum_times(summary);
  users_.fill(now_, jobs_, facts, summary);
  ftf_.fill(summary);
  summary.logged = logged_.summary();
  sum_bounds(summary, facts);
  return summary;
}

void Metrics::sum_times(Summary& summary) const {
  std::vector<std::int64_t> jcts_ms;
  double jct_sum_ms = 0;
  double queued_sum_ms = 0;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.status[job] != JobStatus::kFinished) continue;
    jcts_ms.push_back((jobs_.finish[job] - jobs_.submit[job]).ms);
    jct_sum_ms += static_cast<double>(jcts_ms.back());
    queued_sum_ms += static_cast<double>(jobs_.queued(job).ms);
  }
  if (summary.finished + summary.failed > 0) {
    summary.makespan_s = to_seconds(last_leave_ - first_arrival_);
  }
  if (jcts_ms.empty()) return;
  const auto count = static_cast<double>(jcts_ms.size());
  summary.jct_avg_s = jct_sum_ms / count / 1000.0;
  summary.queue_avg_s = queued_sum_ms / count / 1000.0;
  summary.jct_p50_s = quantile_s(jcts_ms, 50);
  summary.jct_p90_s = quantile_s(jcts_ms, 90);
  summary.jct_p99_s = quantile_s(jcts_ms, 99);
}

void Metrics::sum_bounds(Summary& summary, const RunFacts& facts) const {
  summary.bounds = run_bounds(jobs_, facts.bounds, first_arrival_, nodes_.gpus.installed());
  // For work that is done twice or in part, no job's share is known.
  if (summary.finished > 0 && !any_work_is_lost_ && summary.pending == 0 && summary.failed == 0)
    summary.bounds.comm_time_share_lower = least_communication(jobs_, facts.bounds);
}

}  // namespace fairlead
