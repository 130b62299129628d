#include "fairlead/metrics/summary.h"

#include "fairlead/metrics/metrics.h"
#include "fairlead/metrics/quantile.h"
#include "fairlead/solve/single_machine.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

double gpu_hours(double gpu_ms) { return gpu_ms / 3'600'000.0; }

// The sums over a user's finished jobs, and the work of all its jobs.
struct JobSums {
  double work_ms = 0;                 // GPU time of the reference
  double contended_work_ms = 0;       // part of it in contended time
  double contended_effective_ms = 0;  // GPU time of the mix of types
  std::int64_t finished = 0;
  double jct_ms = 0;
  double queued_ms = 0;
};

// Adds a figure of each job to its user's; a user without a job has 0. REQUIRES: a job without a record has 0.
void sum_by_user(const IdVector<JobId, double>& of_job, const IdVector<JobId, UserId>& user_of,
                 std::vector<UserSummary>& users, std::optional<double> UserSummary::*figure) {
  for (UserSummary& user : users) user.*figure = 0;
  for (JobId job : ids<JobId>(of_job.size())) {
    if (of_job[job] > 0) *(users[user_of[job].row()].*figure) += of_job[job];
  }
}

}  // namespace

Summary Metrics::summary(const RunFacts& facts) const {
  Summary summary;
  summary.policy = policy_;
  summary.options = options_;
  summary.cluster = cluster_;
  summary.trace = trace_;
  summary.seed = seed_;
  summary.journal_hash = facts.journal_hash;
  summary.racks = facts.racks;
  summary.rows_read = facts.rows.rows_read;
  summary.rows_rejected = facts.rows.rows_rejected;
  summary.rows_repaired = facts.rows.rows_repaired;
  summary.rows_skipped = facts.rows.rows_skipped;
  summary.assumed = facts.assumed;
  summary.jobs_read = counts_.finished + counts_.failed + counts_.rejected + counts_.pending;
  summary.finished = counts_.finished;
  summary.failed = counts_.failed;
  summary.rejected = counts_.rejected;
  summary.pending = counts_.pending;
  summary.jobs_rejected = jobs_.rejected_by_reason();
  summary.models_unknown = facts.models_unknown;
  summary.models_communicating = facts.models_communicating;
  summary.settings = facts.settings;
  summary.cost = facts.costs.total;
  summary.gpu_hours = to_gpu_hours(allocated_);
  summary.preemptions = preemptions_;
  summary.placements = placements_;
  summary.open_world = open_world_;
  if (capacity_.gpu_ms > 0) {
    summary.gpu_utilization =
        static_cast<double>(allocated_.gpu_ms) / static_cast<double>(capacity_.gpu_ms);
  }
  if (busy_.gpu_ms > 0) {
    summary.comm_time_share = lost_gpu_ms_ / static_cast<double>(busy_.gpu_ms);
  }
  for (std::uint32_t migrations : jobs_.migrations) summary.migrations += migrations;
  sum_times(summary);
  sum_users(summary, facts);
  sum_groups(summary);
  sum_shares(summary);
  sum_shortfalls(summary);
  sum_ftf(summary);
  sum_bounds(summary, facts);
  sum_logged(summary);
  return summary;
}

void Metrics::sum_logged(Summary& summary) const {
  summary.logged = logged_;
  if (logged_.starts == 0) return;
  const auto jobs = static_cast<double>(logged_.starts);
  summary.logged.queue_avg_s = to_seconds(logged_wait_) / jobs;
  summary.logged.queue_avg_here_s = to_seconds(wait_of_logged_) / jobs;
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
  if (counts_.finished + counts_.failed > 0) {
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

void Metrics::sum_users(Summary& summary, const RunFacts& facts) const {
  IdVector<UserId, JobSums> sums(users_.size());
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.status[job] == JobStatus::kUnseen) continue;
    JobSums& sum = sums[jobs_.user[job]];
    sum.work_ms += reference_ms(jobs_.done(job)) * jobs_.gpus[job];
    if (contended_work_ms_.has(job)) {
      const double work_ms = contended_work_ms_[job] * jobs_.gpus[job];
      const double mix_speed = facts.bounds.has(job) ? facts.bounds[job].mix_speed : 1;
      sum.contended_work_ms += work_ms;
      sum.contended_effective_ms += work_ms / mix_speed;
    }
    if (jobs_.status[job] != JobStatus::kFinished) continue;
    ++sum.finished;
    sum.jct_ms += static_cast<double>((jobs_.finish[job] - jobs_.submit[job]).ms);
    sum.queued_ms += static_cast<double>(jobs_.queued(job).ms);
  }
  summary.users.reserve(users_.size());
  for (UserId id : ids<UserId>(users_.size())) {
    const UserTotals& totals = users_[id];
    const JobSums& sum = sums[id];
    UserSummary& user = summary.users.emplace_back();
    user.user = user_names_[id.row()];
    if (!totals.group.is_none()) user.group = groups_[totals.group].name;
    user.tickets = totals.tickets;
    user.jobs = totals.jobs;
    user.gpu_hours = to_gpu_hours(totals.allocated);
    user.work_gpu_hours = gpu_hours(sum.work_ms);
    user.entitled_gpu_hours = gpu_hours(entitled_gpu_ms(id));
    user.contended_entitled_gpu_hours =
        gpu_hours(std::max(0.0, entitled_gpu_ms(id) - uncontended_entitled_ms(totals)));
    user.contended_useful_gpu_hours = gpu_hours(totals.contended_useful_ms);
    user.contended_effective_gpu_hours = gpu_hours(sum.contended_effective_ms);
    user.contended_work_gpu_hours = gpu_hours(sum.contended_work_ms);
    if (totals.bounded_ftf_max > 0) user.bounded_ftf_max = totals.bounded_ftf_max;
    if (sum.finished == 0) continue;
    user.jct_avg_s = sum.jct_ms / static_cast<double>(sum.finished) / 1000.0;
    user.queue_avg_s = sum.queued_ms / static_cast<double>(sum.finished) / 1000.0;
  }
  const GpuCosts& costs = facts.costs;
  if (costs.total.energy_jobs_kwh)
    sum_by_user(costs.energy_kwh, jobs_.user, summary.users, &UserSummary::energy_kwh);
  if (costs.total.jobs) sum_by_user(costs.price, jobs_.user, summary.users, &UserSummary::cost);
  double contended = 0;
  for (const UserSummary& user : summary.users) contended += user.contended_work_gpu_hours;
  if (contended <= 0) return;
  for (UserSummary& user : summary.users) {
    user.throughput_share = user.contended_work_gpu_hours / contended;
  }
}

void Metrics::sum_groups(Summary& summary) const {
  summary.groups.reserve(groups_.size());
  for (const GroupTotals& group : groups_) {
    summary.groups.push_back({.group = group.name, .tickets = group.tickets, .quota = group.quota});
  }
  for (UserId id : ids<UserId>(users_.size())) {
    if (users_[id].group.is_none()) continue;
    const UserSummary& user = summary.users[id.row()];
    GroupSummary& group = summary.groups[users_[id].group.row()];
    ++group.users;
    group.jobs += user.jobs;
    group.gpu_hours += user.gpu_hours;
    group.entitled_gpu_hours += user.entitled_gpu_hours;
  }
}

void Metrics::sum_shares(Summary& summary) const {
  double sum = 0;
  double sum_of_squares = 0;
  double error_sum = 0;
  double error_max = 0;
  double count = 0;
  for (const UserSummary& user : summary.users) {
    if (user.entitled_gpu_hours <= 0) continue;
    const double ratio = user.gpu_hours / user.entitled_gpu_hours;
    sum += ratio;
    sum_of_squares += ratio * ratio;
    error_sum += std::abs(ratio - 1);
    error_max = std::max(error_max, std::abs(ratio - 1));
    ++count;
  }
  FairnessSummary& fairness = summary.fairness;
  if (count > 0) {
    fairness.share_error_max = error_max;
    fairness.share_error_avg = error_sum / count;
  }
  // Jain, Chiu and Hawe, 1984: 1 if all ratios are equal, 1 / users if one has everything.
  if (sum > 0) fairness.jain = sum * sum / (count * sum_of_squares);
}

void Metrics::sum_shortfalls(Summary& summary) const {
  double useful_max = 0;
  double effective_max = 0;
  double effective_sum = 0;
  double count = 0;
  for (const UserSummary& user : summary.users) {
    // A difference of two integrals: less than a GPU-millisecond may be rounding.
    if (user.contended_entitled_gpu_hours < gpu_hours(1)) continue;
    const auto shortfall = [&](double received) {
      return std::max(0.0, 1 - received / user.contended_entitled_gpu_hours);
    };
    useful_max = std::max(useful_max, shortfall(user.contended_useful_gpu_hours));
    effective_max = std::max(effective_max, shortfall(user.contended_effective_gpu_hours));
    effective_sum += shortfall(user.contended_effective_gpu_hours);
    ++count;
  }
  if (count <= 0) return;
  summary.fairness.useful_shortfall_max = useful_max;
  summary.fairness.effective_shortfall_max = effective_max;
  summary.fairness.effective_shortfall_avg = effective_sum / count;
}

void Metrics::sum_ftf(Summary& summary) const {
  FairnessSummary& fairness = summary.fairness;
  if (ftf_jobs_ > 0) {
    fairness.ftf_max = ftf_max_;
    fairness.ftf_avg = ftf_sum_ / static_cast<double>(ftf_jobs_);
  }
  if (bounded_ftf_.empty()) return;
  std::vector<double> bounded = bounded_ftf_;
  fairness.bounded_ftf_p50 = quantile(bounded, 50);
  fairness.bounded_ftf_p99 = quantile(bounded, 99);
  fairness.bounded_ftf_max = std::ranges::max(bounded);
}

// Returns the loss of all jobs at their best places. For work that is done twice or in part, no job's share is known.
std::optional<double> Metrics::least_communication(const RunFacts& facts) const {
  if (any_work_is_lost_ || counts_.pending > 0 || counts_.failed > 0) return std::nullopt;
  double allocated = 0;
  double computing = 0;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.status[job] != JobStatus::kFinished) continue;
    if (!facts.bounds.has(job) || facts.bounds[job].allocated_gpu_ms <= 0) return std::nullopt;
    allocated += facts.bounds[job].allocated_gpu_ms;
    computing += facts.bounds[job].computing_gpu_ms;
  }
  // A little less, because speeds are rounded.
  return std::max(0.0, 1 - computing / allocated - 1e-6);
}

void Metrics::sum_bounds(Summary& summary, const RunFacts& facts) const {
  const auto alone_ms = [&](Duration work, std::uint32_t gpus) {
    return static_cast<double>(work.ms) * gpus / static_cast<double>(gpus_.installed());
  };
  double time_sum_ms = 0;
  std::vector<MachineJob> as_one_machine;
  Time end_min = first_arrival_;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.status[job] != JobStatus::kFinished) continue;
    const Duration work = jobs_.work[job];
    const JobBound bound =
        facts.bounds.has(job)
            ? facts.bounds[job]
            : JobBound{.time = work, .cluster_ms = alone_ms(work, jobs_.gpus[job])};
    time_sum_ms += static_cast<double>(bound.time.ms);
    as_one_machine.push_back(
        {.release_ms = static_cast<double>((jobs_.submit[job] - first_arrival_).ms),
         .size_ms = bound.cluster_ms});
    end_min = std::max(end_min, jobs_.submit[job] + bound.time);
  }
  if (counts_.finished == 0) return;
  summary.bounds.comm_time_share_lower = least_communication(facts);
  const double jct_sum_ms = std::max({time_sum_ms, least_flow_time_ms(as_one_machine),
                                      least_mean_busy_time_ms(as_one_machine) + time_sum_ms / 2});
  summary.bounds.jct_avg_lower_s = jct_sum_ms / static_cast<double>(counts_.finished) / 1000.0;
  summary.bounds.makespan_lower_s =
      std::max(least_makespan_ms(as_one_machine) / 1000.0, to_seconds(end_min - first_arrival_));
}

}  // namespace fairlead
