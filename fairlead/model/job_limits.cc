#include "fairlead/model/job_limits.h"

#include "fairlead/base/check.h"
#include "fairlead/model/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace fairlead {

LimitRoom::LimitRoom(std::span<const JobLimit> limits, Passing passing)
    : limits_(limits), passing_(passing), used_(limits.size()) {}

bool LimitRoom::fits(std::size_t limit, std::uint32_t gpus) const {
  const Used& used = used_[limit];
  const JobLimit& most = limits_[limit];
  return !used.is_closed && (most.gpus_max == 0 || used.gpus + gpus <= most.gpus_max) &&
         (most.jobs_max == 0 || used.jobs < most.jobs_max);
}

std::optional<LimitRoom::Refusal> LimitRoom::take(std::uint32_t gpus,
                                                  std::span<const std::size_t> of) {
  for (const std::size_t limit : of) {
    const std::uint32_t most = limits_[limit].gpus_max;
    if (most > 0 && gpus > most) return Refusal{.limit = limit, .is_too_large = true};
  }
  for (const std::size_t limit : of) {
    if (fits(limit, gpus)) continue;
    used_[limit].is_closed = passing_ == Passing::kNone;
    return Refusal{.limit = limit};
  }
  for (const std::size_t limit : of) {
    used_[limit].gpus += gpus;
    ++used_[limit].jobs;
  }
  return std::nullopt;
}

void LimitRoom::give_back(std::uint32_t gpus, std::span<const std::size_t> of) {
  FL_CHECK(passing_ == Passing::kSmallOne, "a limit that was closed");
  for (const std::size_t limit : of) {
    FL_CHECK(used_[limit].gpus >= gpus && used_[limit].jobs > 0, "limit {} has no such job", limit);
    used_[limit].gpus -= gpus;
    --used_[limit].jobs;
  }
}

namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

// The limits that one rule makes.
class RuleLimits {
 public:
  RuleLimits(const LimitRule& rule, const Workload& workload, std::vector<JobLimit>& limits)
      : rule_(rule), workload_(workload), limits_(limits) {}

  bool matches(JobId job) const {
    return has(rule_.users, user(job)) && has(rule_.qos, workload_.qos.name(job)) &&
           has(rule_.accounts, workload_.accounts.name(job));
  }
  // Returns whether the rule needs a name of the job that is not known.
  bool lacks(JobId job) const {
    const bool by_account = !rule_.accounts.empty() || rule_.per == LimitRule::Per::kAccount;
    return (!rule_.qos.empty() && workload_.qos.of(job).is_none()) ||
           (by_account && workload_.accounts.of(job).is_none());
  }
  std::size_t limit_of(JobId job) {
    std::string_view whose;
    if (rule_.per == LimitRule::Per::kUser) whose = user(job);
    if (rule_.per == LimitRule::Per::kAccount) whose = workload_.accounts.name(job);
    const auto [found, is_new] = of_.try_emplace(whose, limits_.size());
    if (is_new) {
      JobLimit& limit = limits_.emplace_back(rule_.limit);
      if (!whose.empty()) limit.name += fmt::format(" of {}", whose);
    }
    return found->second;
  }

 private:
  std::string_view user(JobId job) const { return workload_.users.names[workload_.jobs.user[job]]; }

  const LimitRule& rule_;
  const Workload& workload_;
  std::vector<JobLimit>& limits_;
  std::map<std::string_view, std::size_t> of_;
};

}  // namespace

LimitedJobs limited_jobs(std::span<const LimitRule> rules, const Workload& workload,
                         const IdVector<JobId, std::uint32_t>& gpus_of) {
  LimitedJobs limited;
  std::vector<RuleLimits> made;
  made.reserve(rules.size());
  for (const LimitRule& rule : rules) made.emplace_back(rule, workload, limited.limits);
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    std::vector<std::size_t>& of = limited.of_job.grow_to(job);
    if (gpus_of[job] == 0) continue;
    bool is_unknown = false;
    bool is_too_large = false;
    for (RuleLimits& rule : made) {
      is_unknown = is_unknown || rule.lacks(job);
      if (rule.lacks(job) || !rule.matches(job)) continue;
      const std::size_t limit = rule.limit_of(job);
      const std::uint32_t most = limited.limits[limit].gpus_max;
      const bool exceeds = most > 0 && gpus_of[job] > most;
      is_too_large = is_too_large || exceeds;
      if (!exceeds) of.push_back(limit);
    }
    limited.limited += of.empty() ? 0 : 1;
    limited.too_large += is_too_large ? 1 : 0;
    limited.unknown += is_unknown ? 1 : 0;
  }
  return limited;
}

}  // namespace fairlead
