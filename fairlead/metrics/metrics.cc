#include "fairlead/metrics/metrics.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>

namespace fairlead {

namespace {

// Shorter jobs are left out of the bounded finish-time fairness: the ratio of wait to work is meaningless for a job of
// a second.
constexpr Duration kBoundedFtfWork = seconds(60);

}  // namespace

Metrics::Metrics(TimelineOptions timeline) : timeline_(timeline) {}

void Metrics::on(const Record& record) {
  advance(record.t);
  std::visit(
      Overloaded{
          [&](const record::Run& run) { on_run(run); },
          [&](const record::Group& group) { on_group(group); },
          [&](const record::User& user) { on_user(user); },
          [&](const record::Node& node) { on_node(node); },
          [&](const record::Arrived& arrived) { on_arrived(arrived.asked); },
          [&](const record::Rejected& rejected) {
            ++users_[rejected.asked.user].jobs;
            jobs_.reject(rejected, now_);
          },
          [&](const record::Finished& finished) { on_leave(finished.job, JobStatus::kFinished); },
          [&](const OneOf<record::Failed, record::Cancelled> auto& failed) {
            on_leave(failed.job, JobStatus::kFailed);
          },
          [&](const record::Evicted& evicted) { on_job_run_end(evicted.job, evicted.lost); },
          [&](const record::StartFailed& failed) { on_start_failed(failed.job); },
          [&](const ChangesUsableGpus auto& change) {
            gpus_.on(change);
            shares_.set_gpus(now_, gpus_.total());
          },
          [&](const record::Stop& stop) { on_stop(stop); },
          [&](const record::Place& place) { on_place(place); },
          [&](const record::Started& started) { jobs_.start_work(started.job, now_); },
          [&](const record::Held& held) { hold_back(held.job); },
          [&](const record::Released& released) { release(released.job); },
          [&](const record::Tickets& tickets) { on_tickets(tickets); },
          [&](const record::StopFailed&) { ++open_world_.stops_failed; },
          [&](const record::Ignored&) { ++open_world_.events_ignored; },
          [&](const record::Skipped&) { ++open_world_.skips; },
          [&](const record::Speed& speed) {
            add_service(speed.job, jobs_.change_rate(speed.job, now_, speed.rate));
          },
          [&](const record::Unsubmitted& unsubmitted) {
            ++users_[unsubmitted.asked.user].jobs;
            jobs_.arrive(unsubmitted.asked, unsubmitted.submit, JobStatus::kUnsubmitted);
          },
          [&](const record::End& end) { on_end(end.counts); },
          [](const auto&) {},
      },
      record.what);
}

void Metrics::advance(Time t) {
  if (t == now_) return;
  timeline_.advance(t, shares_);
  contended_.set(now_, shares_.any_short());
  const Duration elapsed = t - now_;
  if (timeline_.is_started()) capacity_ += occupancy(elapsed, gpus_.total());
  unfinished_ms_ += Int128{elapsed.ms} * unfinished_;
  now_ = t;
}

void Metrics::on_run(const record::Run& run) {
  seed_ = run.seed;
  policy_ = run.policy;
  options_ = run.options;
  cluster_ = run.cluster;
  trace_ = run.trace;
  gpu_types_.assign(run.gpu_types.begin(), run.gpu_types.end());
  jobs_.reserve(run.jobs);
  unfinished_ms_at_submit_.reserve(run.jobs);
  contended_work_ms_.reserve(run.jobs);
}

void Metrics::on_group(const record::Group& group) {
  shares_.add_group(group.tickets, group.quota);
  groups_.push_back(
      {.name = std::string(group.name), .tickets = group.tickets, .quota = group.quota});
}

void Metrics::on_user(const record::User& user) {
  shares_.add_user(user.tickets, user.group);
  timeline_.add_user();
  users_.push_back({.tickets = user.tickets, .group = user.group});
  user_names_.emplace_back(user.name);
}

void Metrics::on_node(const record::Node& node) {
  node_type_.push_back(node.type);
  node_host_.push_back(node.host);
  node_rack_.push_back(node.rack);
  gpus_.on(node);
  shares_.set_gpus(now_, gpus_.total());
}

void Metrics::on_arrived(const JobSpec& asked) {
  if (!timeline_.is_started()) {
    first_arrival_ = now_;
    timeline_.begin(now_);
  }
  jobs_.arrive(asked, now_, JobStatus::kPending);
  unfinished_ms_at_submit_.grow_to(asked.job) = unfinished_ms_;
  contended_work_ms_.grow_to(asked.job) = 0;
  ++unfinished_;
  ++users_[asked.user].jobs;
  ask(asked.job);
  if (asked.logged.start != Time::never()) {
    logged_start_.resize(std::max<std::size_t>(logged_start_.size(), asked.job.row() + 1),
                         Time::never());
    logged_start_[asked.job] = asked.logged.start;
  }
}

// Adds to the number of GPUs that the user asks for. In time that is not contended it is entitled to all that it asks
// for.
void Metrics::count_demand(UserId id, std::int64_t gpus) {
  UserTotals& user = users_[id];
  user.uncontended_entitled_ms = uncontended_entitled_ms(user);
  user.uncontended_before = uncontended();
  user.demand += gpus;
}

double Metrics::uncontended_entitled_ms(const UserTotals& user) const {
  const Duration since = uncontended() - user.uncontended_before;
  return user.uncontended_entitled_ms +
         static_cast<double>(since.ms) * static_cast<double>(user.demand);
}

// The job waits and wants its gang.
void Metrics::ask(JobId job) {
  count_demand(jobs_.user[job], jobs_.gpus[job]);
  shares_.add_demand(now_, jobs_.user[job], jobs_.gpus[job]);
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = 0, .running = 0, .waiting = 1});
}

void Metrics::ask_no_more(JobId job) {
  count_demand(jobs_.user[job], -std::int64_t{jobs_.gpus[job]});
  shares_.add_demand(now_, jobs_.user[job], -std::int64_t{jobs_.gpus[job]});
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = 0, .running = 0, .waiting = -1});
}

// A job that waits for its retry may also be held by its user.
void Metrics::hold_back(JobId job) {
  if (held_back_.insert(job).second) ask_no_more(job);
}

void Metrics::release(JobId job) {
  if (held_back_.erase(job) > 0) ask(job);
}

void Metrics::on_tickets(const record::Tickets& tickets) {
  users_[tickets.user].tickets = tickets.tickets;
  shares_.set_tickets(now_, tickets.user, tickets.tickets);
}

void Metrics::on_place(const record::Place& place) {
  TypeMask types = 0;
  for (Slice slice : place.gang) types |= type_bit(node_type_[slice.node]);
  jobs_.place(place, now_, types);
  ++placements_[static_cast<std::size_t>(tier_of(place.gang, node_host_, node_rack_))];
  const int jobs = place.copy == 0 ? 1 : 0;
  timeline_.change(now_, jobs_.user[place.job],
                   {.gpus_allocated = gpus_of(place.gang), .running = jobs, .waiting = -jobs});
}

void Metrics::on_stop(const record::Stop& stop) {
  const bool is_preemption = !is_by_user(stop.cause);
  jobs_.preemptions[stop.job] += is_preemption;
  preemptions_ += is_preemption;
  on_job_run_end(stop.job, {});
}

void Metrics::on_start_failed(JobId job) {
  ++open_world_.starts_failed;
  on_job_run_end(job, {});
  hold_back(job);
}

void Metrics::on_job_run_end(JobId job, Duration lost) {
  const std::int64_t gpus = jobs_.allocated_gpus(job);
  add_service(job, jobs_.end_run(job, now_, lost), lost);
  timeline_.change(now_, jobs_.user[job], {.gpus_allocated = -gpus, .running = -1, .waiting = 1});
}

void Metrics::add_service(JobId job, const Service& service, Duration lost) {
  UserTotals& user = users_[jobs_.user[job]];
  user.allocated += service.allocated;
  const double part = contended_part(service.worked);
  user.contended_useful_ms += part * static_cast<double>(service.busy.gpu_ms);
  contended_work_ms_[job] +=
      part * reference_ms(service.done) - contended_part(lost) * reference_ms(service.undone);
  allocated_ += service.allocated;
  busy_ += service.busy;
  lost_gpu_ms_ += service.lost_gpu_ms;
  any_work_is_lost_ |= lost > Duration{};
}

// Returns the contended fraction of the `time` up to now.
double Metrics::contended_part(Duration time) const {
  if (time.ms <= 0) return 0;
  const Duration contended = contended_.up_to(now_) - contended_.up_to(now_ - time);
  return static_cast<double>(contended.ms) / static_cast<double>(time.ms);
}

void Metrics::on_leave(JobId job, JobStatus as) {
  if (jobs_.has_gpus(job)) on_job_run_end(job, {});
  jobs_.leave(job, now_, as);
  if (held_back_.erase(job) == 0) ask_no_more(job);
  --unfinished_;
  last_leave_ = now_;
  capacity_at_leave_ = capacity_;
  if (as != JobStatus::kFinished) return;
  count_ftf(job);
  if (logged_start_.has(job) && logged_start_[job] != Time::never()) count_logged(job);
}

void Metrics::count_logged(JobId job) {
  const Time start = logged_start_[job];
  ++logged_.starts;
  logged_.kept += jobs_.start[job] == start;
  logged_.later += jobs_.start[job] > start;
  logged_wait_ += start - jobs_.submit[job];
  wait_of_logged_ += jobs_.queued(job);
}

// Finish-time fairness (Mahajan et al., Themis, NSDI 2020) against an equal share of the cluster.
void Metrics::count_ftf(JobId job) {
  const auto life_ms = static_cast<double>((jobs_.finish[job] - jobs_.submit[job]).ms);
  if (life_ms <= 0 || jobs_.work[job].ms <= 0) return;  // its work is unknown
  const Int128 unfinished_ms = unfinished_ms_ - unfinished_ms_at_submit_[job];
  const double contenders = static_cast<double>(unfinished_ms) / life_ms;
  const double share = static_cast<double>(gpus_.installed()) / contenders;
  const double slowdown = std::max(1.0, static_cast<double>(jobs_.gpus[job]) / share);
  const double ftf = life_ms / (static_cast<double>(jobs_.work[job].ms) * slowdown);
  ++ftf_jobs_;
  ftf_sum_ += ftf;
  ftf_max_ = std::max(ftf_max_, ftf);
  if (jobs_.work[job] < kBoundedFtfWork) return;
  const auto allowed_ms = static_cast<double>(jobs_.first_overhead[job].ms);
  const double bounded = ftf * (life_ms - allowed_ms) / life_ms;
  bounded_ftf_.push_back(bounded);
  double& user_max = users_[jobs_.user[job]].bounded_ftf_max;
  user_max = std::max(user_max, bounded);
}

void Metrics::on_end(const JobCounts& counts) {
  counts_ = counts;
  open_world_.held = std::ssize(held_back_);
  const bool cut_off = counts.pending > 0;
  timeline_.finish(now_, cut_off ? now_ : last_leave_, shares_);
  if (!cut_off) capacity_ = capacity_at_leave_;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.has_gpus(job)) add_service(job, jobs_.end_run(job, now_));
  }
}

}  // namespace fairlead
