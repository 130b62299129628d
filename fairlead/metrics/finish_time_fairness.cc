#include "fairlead/metrics/finish_time_fairness.h"

#include "fairlead/metrics/quantile.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr Duration kBoundedWork = seconds(60);

}  // namespace

void FinishTimeFairness::arrive(JobId job) {
  unfinished_ms_at_submit_.grow_to(job) = unfinished_ms_;
  ++unfinished_;
}

void FinishTimeFairness::finish(const JobTable& jobs, JobId job, std::int64_t gpus) {
  const auto life_ms = static_cast<double>((jobs.finish[job] - jobs.submit[job]).ms);
  if (life_ms <= 0 || jobs.work[job].ms <= 0) return;  // its work is unknown
  const Int128 unfinished_ms = unfinished_ms_ - unfinished_ms_at_submit_[job];
  const double contenders = static_cast<double>(unfinished_ms) / life_ms;
  const double share = static_cast<double>(gpus) / contenders;
  const double slowdown = std::max(1.0, static_cast<double>(jobs.gpus[job]) / share);
  const double value = life_ms / (static_cast<double>(jobs.work[job].ms) * slowdown);
  ++jobs_;
  sum_ += value;
  max_ = std::max(max_, value);
  if (jobs.work[job] < kBoundedWork) return;
  const auto allowed_ms = static_cast<double>(jobs.first_overhead[job].ms);
  const double bounded = value * (life_ms - allowed_ms) / life_ms;
  bounded_.push_back(bounded);
  double& user_max = bounded_max_.grow_to(jobs.user[job]);
  user_max = std::max(user_max, bounded);
}

void FinishTimeFairness::fill(Summary& summary) const {
  for (UserId user : ids<UserId>(bounded_max_.size())) {
    if (bounded_max_[user] > 0) summary.users[user.row()].bounded_ftf_max = bounded_max_[user];
  }
  FairnessSummary& fairness = summary.fairness;
  if (jobs_ > 0) {
    fairness.ftf_max = max_;
    fairness.ftf_avg = sum_ / static_cast<double>(jobs_);
  }
  if (bounded_.empty()) return;
  std::vector<double> bounded = bounded_;
  fairness.bounded_ftf_p50 = quantile(bounded, 50);
  fairness.bounded_ftf_p99 = quantile(bounded, 99);
  fairness.bounded_ftf_max = std::ranges::max(bounded);
}

}  // namespace fairlead
