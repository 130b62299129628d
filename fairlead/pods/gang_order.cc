#include "fairlead/pods/gang_order.h"

#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <bit>
#include <optional>
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

}  // namespace

void GangOrder::look_at(const std::string& key, bool is_held) {
  const GangBook::Entry* const entry = gangs_.find(key);
  std::optional<Seen> now;
  if (entry != nullptr && entry->is_here) {
    now = {.priority = classes_.of(entry->gang.owner()),
           .takes_part = entry->is_whole_and_here() && !is_held,
           .is_pinned = entry->gang.is_pinned()};
  }
  if (const auto known = user_of_.find(key); known != user_of_.end()) {
    User& user = users_.at(known->second);
    const Seen before = user.gangs.at(key);
    if (now == before) return;
    if (--user.values.at(before.priority.value) == 0) user.values.erase(before.priority.value);
    user.gangs.erase(key);
    if (user.gangs.empty() && !now) users_.erase(known->second);
    user_of_.erase(known);
    is_due_ = true;
  }
  if (!now) return;
  const Owner& owner = entry->gang.owner();
  std::string name = owner.queue;
  if (name.empty() && scope_ == PriorityScope::kUser) name = owner.name_space;
  User& user = users_[name];
  ++user.values[now->priority.value];
  user.gangs[key] = *now;
  user_of_[key] = name;
  is_due_ = true;
}

Time GangOrder::due() const {
  Time first = Time::never();
  for (const auto& [name, user] : users_) first = std::min(first, user.order.due());
  return first;
}

const StartBlock* GangOrder::block_of(JobId job) const {
  const auto found = blocked_.find(job);
  return found == blocked_.end() ? nullptr : &found->second;
}

bool GangOrder::is_above_running(const std::string& key, const Tables& tables) const {
  const auto user = user_of_.find(key);
  if (user == user_of_.end()) return false;
  const auto& gangs = users_.at(user->second).gangs;
  const std::int64_t value = gangs.at(key).priority.value;
  return std::ranges::any_of(gangs, [&](const auto& entry) {
    const JobId job = gangs_.find(entry.first)->job;
    return entry.second.priority.value < value && !job.is_none() && tables.jobs.is_here(job) &&
           state_in_order(tables, job) == OrderedJob::State::kRuns;
  });
}

std::set<std::string> GangOrder::update(Time now, const Tables& tables) {
  if (!is_due_ && due() > now) return {};
  is_due_ = false;
  const std::map<JobId, StartBlock> before = std::exchange(blocked_, {});
  Machine machine(tables);
  for (auto& [name, user] : users_) {
    if (user.values.size() < 2) {
      user.order = {};
      continue;
    }
    std::vector<OrderedJob> jobs = ordered(user, tables);
    for (OrderedJob& job : jobs)
      job.can_run = !tables.jobs.has(job.job) || machine.can_run(job.job);
    user.order.update(now, std::move(jobs), 0, tables);
    blocked_.insert(user.order.blocked().begin(), user.order.blocked().end());
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
std::vector<OrderedJob> GangOrder::ordered(const User& user, const Tables& tables) const {
  std::vector<OrderedJob> jobs;
  for (const auto& [key, seen] : user.gangs) {
    const GangBook::Entry& entry = *gangs_.find(key);
    const JobId job = entry.job;
    if (!seen.takes_part || job.is_none()) continue;
    if (tables.jobs.has(job) && !tables.jobs.is_here(job)) continue;
    const OrderedJob::State state = state_in_order(tables, job);
    if (state == OrderedJob::State::kRuns && seen.is_pinned) continue;
    const Owner& owner = entry.gang.owner();
    jobs.push_back({.job = job,
                    .priority = seen.priority.value,
                    .gpus = owner.tasks * owner.task_gpus,
                    .state = state,
                    .preempts = seen.priority.preempts});
  }
  return jobs;
}

}  // namespace fairlead
