#include "fairlead/local/host_order.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

bool fit(const HostAmounts& needs, const HostAmounts& into) {
  return needs.cpu_milli <= into.cpu_milli &&
         (needs.memory_mb == 0 || needs.memory_mb <= into.memory_mb);
}

bool is_urgent(const HostJob& job) { return job.priority == Priority::kUrgent; }

class Line {
 public:
  Line(HostAmounts free, const HostAmounts& without) : free_(free), without_(without) {}

  void add_running(const HostJob& job) { used_milli_[job.user] += job.needs.cpu_milli; }

  // Takes the jobs that fit, and blocks the others. REQUIRES: the jobs of each user are in the order of their starts.
  void pass(std::span<const HostJob> jobs) {
    std::map<UserId, std::vector<const HostJob*>> of_user;  // the first job is the last element
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) of_user[job->user].push_back(&*job);
    std::set<std::tuple<std::int64_t, JobId, UserId>> heads;
    const auto add_head = [&](UserId user) {
      const auto& left = of_user[user];
      if (!left.empty()) heads.emplace(used_milli_[user], left.back()->job, user);
    };
    for (const auto& [user, left] : of_user) add_head(user);
    while (!heads.empty()) {
      const UserId user = std::get<UserId>(*heads.begin());
      heads.erase(heads.begin());
      std::vector<const HostJob*>& left = of_user[user];
      const HostJob& job = *left.back();
      left.pop_back();
      if (!stop_ && fit(job.needs, free_)) {
        free_.cpu_milli -= job.needs.cpu_milli;
        free_.memory_mb -= job.needs.memory_mb;
        used_milli_[user] += job.needs.cpu_milli;
        add_head(user);
        continue;
      }
      const HostBlock block = stop_.value_or(
          HostBlock{.is_memory = job.needs.cpu_milli <= free_.cpu_milli, .by = job.job});
      blocked_[job.job] = {block.is_memory, block.by == job.job ? JobId() : block.by};
      for (const HostJob* other : left) blocked_[other->job] = block;
      if (fit(job.needs, without_)) stop_ = block;
    }
  }

  std::map<JobId, HostBlock> take_blocked() { return std::move(blocked_); }

 private:
  HostAmounts free_;
  const HostAmounts without_;
  std::map<UserId, std::int64_t> used_milli_;
  std::map<JobId, HostBlock> blocked_;
  std::optional<HostBlock> stop_;  // stops all other jobs
};

}  // namespace

std::map<JobId, HostBlock> host_order(std::vector<HostJob> jobs, HostAmounts free,
                                      const HostAmounts& without) {
  Line line(free, without);
  for (const HostJob& job : jobs) {
    if (job.runs) line.add_running(job);
  }
  std::erase_if(jobs, [](const HostJob& job) { return job.runs; });
  std::ranges::sort(jobs, {}, [](const HostJob& job) {
    return std::tuple(-static_cast<int>(job.priority), job.job);
  });
  const auto others = std::ranges::find_if_not(jobs, is_urgent);
  line.pass({jobs.begin(), others});
  line.pass({others, jobs.end()});
  return line.take_blocked();
}

}  // namespace fairlead
