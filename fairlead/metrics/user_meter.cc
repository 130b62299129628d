#include "fairlead/metrics/user_meter.h"

#include <algorithm>
#include <cmath>
#include <optional>

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

void add_throughput_shares(std::vector<UserSummary>& users) {
  double contended = 0;
  for (const UserSummary& user : users) contended += user.contended_work_gpu_hours;
  if (contended <= 0) return;
  for (UserSummary& user : users) {
    user.throughput_share = user.contended_work_gpu_hours / contended;
  }
}

void add_share_errors(Summary& summary) {
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

void add_shortfalls(Summary& summary) {
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

}  // namespace

void UserMeter::add_group(const record::Group& group) {
  shares_.add_group(group.tickets, group.quota);
  groups_.push_back(
      {.name = std::string(group.name), .tickets = group.tickets, .quota = group.quota});
}

void UserMeter::add_user(const record::User& user) {
  shares_.add_user(user.tickets, user.group);
  users_.push_back({.tickets = user.tickets, .group = user.group});
  names_.emplace_back(user.name);
}

void UserMeter::set_tickets(Time now, const record::Tickets& tickets) {
  users_[tickets.user].tickets = tickets.tickets;
  shares_.set_tickets(now, tickets.user, tickets.tickets);
}

void UserMeter::add_demand(Time now, UserId id, std::int64_t gpus) {
  User& user = users_[id];
  user.uncontended_entitled_ms = uncontended_entitled_ms(now, user);
  user.uncontended_before = uncontended(now);
  user.demand += gpus;
  shares_.add_demand(now, id, gpus);
}

double UserMeter::uncontended_entitled_ms(Time now, const User& user) const {
  const Duration since = uncontended(now) - user.uncontended_before;
  return user.uncontended_entitled_ms +
         static_cast<double>(since.ms) * static_cast<double>(user.demand);
}

void UserMeter::add_service(Time now, UserId id, JobId job, const Service& service, Duration lost) {
  User& user = users_[id];
  user.allocated += service.allocated;
  const double part = contended_part(now, service.worked);
  user.contended_useful_ms += part * static_cast<double>(service.busy.gpu_ms);
  contended_work_ms_.grow_to(job) +=
      part * reference_ms(service.done) - contended_part(now, lost) * reference_ms(service.undone);
}

// Returns the contended fraction of the `time` up to now.
double UserMeter::contended_part(Time now, Duration time) const {
  if (time.ms <= 0) return 0;
  const Duration contended = contended_.up_to(now) - contended_.up_to(now - time);
  return static_cast<double>(contended.ms) / static_cast<double>(time.ms);
}

void UserMeter::fill(Time end, const JobTable& jobs, const RunFacts& facts,
                     Summary& summary) const {
  add_users(end, jobs, facts, summary);
  add_groups(summary);
  add_share_errors(summary);
  add_shortfalls(summary);
}

void UserMeter::add_users(Time end, const JobTable& jobs, const RunFacts& facts,
                          Summary& summary) const {
  IdVector<UserId, JobSums> sums(users_.size());
  for (JobId job : ids<JobId>(jobs.size())) {
    if (jobs.status[job] == JobStatus::kUnseen) continue;
    JobSums& sum = sums[jobs.user[job]];
    sum.work_ms += reference_ms(jobs.done(job)) * jobs.gpus[job];
    if (contended_work_ms_.has(job)) {
      const double work_ms = contended_work_ms_[job] * jobs.gpus[job];
      const double mix_speed = facts.bounds.has(job) ? facts.bounds[job].mix_speed : 1;
      sum.contended_work_ms += work_ms;
      sum.contended_effective_ms += work_ms / mix_speed;
    }
    if (jobs.status[job] != JobStatus::kFinished) continue;
    ++sum.finished;
    sum.jct_ms += static_cast<double>((jobs.finish[job] - jobs.submit[job]).ms);
    sum.queued_ms += static_cast<double>(jobs.queued(job).ms);
  }
  summary.users.reserve(users_.size());
  for (UserId id : ids<UserId>(users_.size())) {
    const User& totals = users_[id];
    const JobSums& sum = sums[id];
    UserSummary& user = summary.users.emplace_back();
    user.user = names_[id.row()];
    if (!totals.group.is_none()) user.group = groups_[totals.group].name;
    user.tickets = totals.tickets;
    user.jobs = totals.jobs;
    user.gpu_hours = to_gpu_hours(totals.allocated);
    user.work_gpu_hours = gpu_hours(sum.work_ms);
    user.entitled_gpu_hours = gpu_hours(shares_.entitled_gpu_ms(id, end));
    user.contended_entitled_gpu_hours = gpu_hours(
        std::max(0.0, shares_.entitled_gpu_ms(id, end) - uncontended_entitled_ms(end, totals)));
    user.contended_useful_gpu_hours = gpu_hours(totals.contended_useful_ms);
    user.contended_effective_gpu_hours = gpu_hours(sum.contended_effective_ms);
    user.contended_work_gpu_hours = gpu_hours(sum.contended_work_ms);
    if (sum.finished == 0) continue;
    user.jct_avg_s = sum.jct_ms / static_cast<double>(sum.finished) / 1000.0;
    user.queue_avg_s = sum.queued_ms / static_cast<double>(sum.finished) / 1000.0;
  }
  const GpuCosts& costs = facts.costs;
  if (costs.total.energy_jobs_kwh)
    sum_by_user(costs.energy_kwh, jobs.user, summary.users, &UserSummary::energy_kwh);
  if (costs.total.jobs) sum_by_user(costs.price, jobs.user, summary.users, &UserSummary::cost);
  add_throughput_shares(summary.users);
}

void UserMeter::add_groups(Summary& summary) const {
  summary.groups.reserve(groups_.size());
  for (const Group& group : groups_) {
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

}  // namespace fairlead
