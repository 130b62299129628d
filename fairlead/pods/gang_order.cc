#include "fairlead/pods/gang_order.h"

#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

// Which jobs the nodes in service could run if they were empty.
class Machine {
 public:
  explicit Machine(const Tables& tables) : tables_(tables) {}

  // REQUIRES: the tables have the job. O(nodes x needs) for the first of equal jobs.
  bool can_run(JobId job) {
    const Jobs& jobs = tables_.jobs;
    const std::uint32_t limit = jobs.limits == nullptr ? 0 : jobs.limits->kind_of(job);
    const auto [found, is_new] = tasks_.try_emplace({jobs.types[job], jobs.task_gpus[job], limit});
    if (is_new) found->second = tasks_for(job);
    return found->second >= jobs.gpus[job] / jobs.task_gpus[job];
  }

 private:
  std::uint64_t tasks_for(JobId job) const {
    const Jobs& jobs = tables_.jobs;
    std::uint64_t tasks = 0;
    for (const NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
      if ((jobs.types[job] & type_bit(tables_.cluster.node_type[node])) == 0) continue;
      const auto gpus = static_cast<std::uint32_t>(std::popcount(tables_.nodes[node].usable()));
      const std::uint32_t by_gpus = gpus / jobs.task_gpus[job];
      tasks +=
          jobs.limits == nullptr ? by_gpus : std::min(by_gpus, jobs.limits->most_tasks(job, node));
    }
    return tasks;
  }

  const Tables& tables_;
  // By types, GPUs of a task, and TaskLimits::kind_of().
  std::map<std::tuple<TypeMask, std::uint32_t, std::uint32_t>, std::uint64_t> tasks_;
};

bool has_several(const std::vector<OrderedJob>& jobs) {
  return std::ranges::any_of(
      jobs, [&](const OrderedJob& job) { return job.priority != jobs.front().priority; });
}

}  // namespace

Time GangOrder::due() const {
  Time first = Time::never();
  for (const auto& [user, order] : orders_) first = std::min(first, order.due());
  return first;
}

const StartBlock* GangOrder::block_of(JobId job) const {
  const auto found = blocked_.find(job);
  return found == blocked_.end() ? nullptr : &found->second;
}

std::set<std::string> GangOrder::update(Time now, const Tables& tables, const IsHeld& is_held) {
  if (!is_due_ && due() > now) return {};
  is_due_ = false;
  std::map<JobId, StartBlock> before = std::exchange(blocked_, {});
  Ordered all = ordered(tables, is_held);
  std::erase_if(all, [](const auto& entry) { return !has_several(entry.second); });
  std::erase_if(orders_, [&](const auto& entry) { return !all.contains(entry.first); });
  Machine machine(tables);
  for (auto& [user, jobs] : all) {
    for (OrderedJob& job : jobs)
      job.can_run = !tables.jobs.has(job.job) || machine.can_run(job.job);
    UserOrder& order = orders_[user];
    order.update(now, std::move(jobs), 0, tables);
    blocked_.insert(order.blocked().begin(), order.blocked().end());
  }
  std::set<std::string> changed;
  const auto add = [&](const auto& some, const auto& others) {
    for (const auto& [job, block] : some) {
      const auto key = gangs_.keys().find(job);
      if (!others.contains(job) && key != gangs_.keys().end()) changed.insert(key->second);
    }
  };
  add(before, blocked_);
  add(blocked_, before);
  return changed;
}

// A gang that cannot be stopped where it is neither takes part nor keeps others from GPUs.
GangOrder::Ordered GangOrder::ordered(const Tables& tables, const IsHeld& is_held) const {
  Ordered all;
  for (const auto& [key, entry] : gangs_.all()) {
    const JobId job = entry.job;
    if (job.is_none() || !entry.is_whole_and_here() || is_held(key)) continue;
    if (tables.jobs.has(job) && !tables.jobs.is_here(job)) continue;
    const OrderedJob::State state = state_in_order(tables, job);
    if (state == OrderedJob::State::kRuns && entry.gang.is_pinned()) continue;
    const Owner& owner = entry.gang.owner();
    const GangPriority priority = classes_.of(owner);
    all[scope_ == PriorityScope::kUser ? owner.name_space : ""].push_back(
        {.job = job,
         .priority = priority.value,
         .gpus = owner.pods * owner.pod_gpus,
         .state = state,
         .preempts = priority.preempts});
  }
  return all;
}

}  // namespace fairlead
