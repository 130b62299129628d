#include "fairlead/metrics/summary.h"

#include "fairlead/metrics/metrics.h"
#include "fairlead/solve/single_machine.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

double gpu_hours(double gpu_ms) { return gpu_ms / 3'600'000.0; }

double work_gpu_ms(const JobTable& jobs, JobId job) {
  const double reference_ms =
      static_cast<double>(jobs.done(job).fixed) / static_cast<double>(Rate::kOne);
  return reference_ms * static_cast<double>(jobs.gpus[job]);
}

// The nearest-rank quantile: the smallest value that at least `percent` of all do not exceed.
double quantile_s(std::vector<std::int64_t>& values_ms, std::size_t percent) {
  const std::size_t rank = (values_ms.size() * percent + 99) / 100;
  const auto nth =
      values_ms.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values_ms.begin(), nth, values_ms.end());
  return to_seconds(Duration{*nth});
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
  summary.rows_read = facts.rows.rows_read;
  summary.rows_rejected = facts.rows.rows_rejected;
  summary.rows_repaired = facts.rows.rows_repaired;
  summary.jobs_read = counts_.finished + counts_.failed + counts_.rejected + counts_.pending;
  summary.finished = counts_.finished;
  summary.failed = counts_.failed;
  summary.rejected = counts_.rejected;
  summary.pending = counts_.pending;
  summary.jobs_rejected = jobs_.rejected_by_reason();
  summary.models_unknown = facts.models_unknown;
  summary.models_communicating = facts.models_communicating;
  summary.settings = facts.settings;
  summary.gpu_hours = to_gpu_hours(held_);
  summary.preemptions = preemptions_;
  summary.placements = placements_;
  summary.open_world = open_world_;
  if (capacity_.gpu_ms > 0) {
    summary.gpu_utilization =
        static_cast<double>(held_.gpu_ms) / static_cast<double>(capacity_.gpu_ms);
  }
  if (busy_.gpu_ms > 0) {
    summary.comm_time_share = lost_gpu_ms_ / static_cast<double>(busy_.gpu_ms);
  }
  for (std::uint32_t migrations : jobs_.migrations) summary.migrations += migrations;
  sum_times(summary);
  sum_users(summary);
  sum_fairness(summary);
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

void Metrics::sum_users(Summary& summary) const {
  IdVector<UserId, double> work_ms(users_.size(), 0.0);
  double work_sum_ms = 0;
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.status[job] == JobStatus::kUnseen) continue;
    const double job_ms = work_gpu_ms(jobs_, job);
    work_ms[jobs_.user[job]] += job_ms;
    work_sum_ms += job_ms;
  }
  for (UserId user : ids<UserId>(users_.size())) {
    summary.users.push_back(
        {.user = user_names_[user.row()],
         .tickets = users_[user].tickets,
         .jobs = users_[user].jobs,
         .gpu_hours = to_gpu_hours(users_[user].held),
         .work_gpu_hours = gpu_hours(work_ms[user]),
         .entitled_gpu_hours = gpu_hours(entitled_gpu_ms(user)),
         .throughput_share = work_sum_ms > 0 ? work_ms[user] / work_sum_ms : 0});
  }
}

void Metrics::sum_fairness(Summary& summary) const {
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
  if (ftf_jobs_ > 0) {
    fairness.ftf_max = ftf_max_;
    fairness.ftf_avg = ftf_sum_ / static_cast<double>(ftf_jobs_);
  }
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
        facts.bounds.has(job) ? facts.bounds[job] : JobBound{work, alone_ms(work, jobs_.gpus[job])};
    time_sum_ms += static_cast<double>(bound.time.ms);
    as_one_machine.push_back(
        {.release_ms = static_cast<double>((jobs_.submit[job] - first_arrival_).ms),
         .size_ms = bound.cluster_ms});
    end_min = std::max(end_min, jobs_.submit[job] + bound.time);
  }
  if (counts_.finished == 0) return;
  const double jct_sum_ms = std::max(time_sum_ms, least_flow_time_ms(as_one_machine));
  summary.bounds.jct_avg_lower_s = jct_sum_ms / static_cast<double>(counts_.finished) / 1000.0;
  summary.bounds.makespan_lower_s =
      std::max(least_makespan_ms(as_one_machine) / 1000.0, to_seconds(end_min - first_arrival_));
}

}  // namespace fairlead
