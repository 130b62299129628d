#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Returns how many tasks fit into the amounts, which are in the order of the resources.
std::uint32_t tasks_in(const std::int64_t* amounts, std::size_t resources,
                       const std::vector<TaskNeed>& needs) {
  std::int64_t most = kAnyTasks - 1;
  for (const TaskNeed& need : needs) {
    const std::int64_t has = need.resource < resources ? amounts[need.resource] : 0;
    most = std::min(most, std::max<std::int64_t>(has, 0) / need.amount);
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace

void TaskLimits::set_needs(JobId job, std::uint32_t kind, std::vector<TaskNeed> needs) {
  FL_CHECK(kind != 0 && std::ranges::all_of(needs, [](TaskNeed need) { return need.amount > 0; }));
  Needs& now = needs_.grow_to(job);
  limited_ += now.kind == 0 ? 1 : 0;
  ++version_;
  now = {kind, std::move(needs)};
}

void TaskLimits::forget(JobId job) {
  if (needs_of(job) != nullptr) {
    needs_[job] = {};
    --limited_;
    ++version_;
  }
  std::erase_if(closed_, [&](const auto& entry) { return entry.first == job; });
  places_.erase(job);
}

void TaskLimits::set_offer(NodeId node, std::vector<std::int64_t> amounts) {
  resources_ = std::max(resources_, amounts.size());
  offers_.grow_to(node) = std::move(amounts);
  ++version_;
}

void TaskLimits::set_name(std::uint32_t resource, TaskResource name) {
  names_.resize(std::max<std::size_t>(names_.size(), resource + std::size_t{1}));
  names_[resource] = name;
}

bool TaskLimits::set_closed(NodeId node, const std::set<JobId>& jobs) {
  const auto opened = std::erase_if(closed_, [&](const auto& entry) {
    return entry.second == node && !jobs.contains(entry.first);
  });
  for (JobId job : jobs) closed_.insert({job, node});
  return opened > 0;
}

std::vector<NodeId> TaskLimits::set_places(JobId job, std::map<NodeId, std::uint32_t> most) {
  std::vector<NodeId> gained;
  if (const auto before = places_.find(job); before != places_.end()) {
    for (const auto& [node, tasks] : most) {
      const auto had = before->second.find(node);
      if (tasks > (had == before->second.end() ? 0 : had->second)) gained.push_back(node);
    }
  }
  places_[job] = std::move(most);
  return gained;
}

bool TaskLimits::has(JobId job) const {
  const auto closed = closed_.lower_bound({job, NodeId(0)});
  return needs_of(job) != nullptr || (closed != closed_.end() && closed->first == job) ||
         places_.contains(job);
}

std::uint32_t TaskLimits::most_by_place(JobId job, NodeId node) const {
  if (!closed_.empty() && closed_.contains({job, node})) return 0;
  const auto places = places_.find(job);
  if (places == places_.end()) return kAnyTasks;
  const auto place = places->second.find(node);
  return place == places->second.end() ? 0 : place->second;
}

std::uint32_t TaskLimits::kind_of(JobId job) const {
  std::uint32_t kind = needs_.has(job) ? needs_[job].kind : 0;
  // Mixes the numbers of the closed nodes in.
  for (auto at = closed_.lower_bound({job, NodeId(0)}); at != closed_.end() && at->first == job;
       ++at) {
    kind = (kind + at->second.row() + 1U) * 0x9e3779b1U | 1U;
  }
  const auto places = places_.find(job);
  if (places == places_.end()) return kind;
  kind = kind * 0x85ebca6bU | 1U;  // also without a node
  for (const auto& [node, tasks] : places->second) {
    kind = ((kind + node.row() + 1U) * 0x9e3779b1U + tasks) * 0x85ebca6bU | 1U;
  }
  return kind;
}

const std::vector<TaskNeed>* TaskLimits::needs_of(JobId job) const {
  return needs_.has(job) && needs_[job].kind != 0 ? &needs_[job].each : nullptr;
}

std::uint32_t TaskLimits::most_tasks(JobId job, NodeId node) const {
  const std::uint32_t most = most_by_place(job, node);
  const std::vector<TaskNeed>* const needs = needs_of(job);
  if (needs == nullptr) return most;
  if (!offers_.has(node)) return std::min(most, tasks_in(nullptr, 0, *needs));
  return std::min(most, tasks_in(offers_[node].data(), offers_[node].size(), *needs));
}

bool TaskRoom::begin(const TaskLimits* limits, std::size_t nodes) {
  if (limits != nullptr && limits->empty()) limits = nullptr;
  if (limits != nullptr && limits == limits_ && limits->version_ == version_ && nodes == nodes_)
    return false;
  limits_ = limits;
  left_.clear();
  if (limits_ == nullptr) return true;
  version_ = limits_->version_;
  nodes_ = nodes;
  left_.assign(nodes * limits_->resources_, 0);
  for (NodeId node : ids<NodeId>(std::min(nodes, limits_->offers_.size()))) {
    std::ranges::copy(
        limits_->offers_[node],
        left_.begin() + static_cast<std::ptrdiff_t>(node.row() * limits_->resources_));
  }
  return true;
}

bool TaskRoom::limits(JobId job) const { return limits_ != nullptr && limits_->has(job); }

std::uint32_t TaskRoom::tasks(JobId job, NodeId node) const {
  if (limits_ == nullptr) return kAnyTasks;
  const std::uint32_t most = limits_->most_by_place(job, node);
  const std::vector<TaskNeed>* const needs = limits_->needs_of(job);
  if (needs == nullptr || most == 0) return most;
  return std::min(
      most, tasks_in(left_.data() + node.row() * limits_->resources_, limits_->resources_, *needs));
}

std::uint32_t TaskRoom::most_tasks(JobId job, NodeId node) const {
  return limits_ == nullptr ? kAnyTasks : limits_->most_tasks(job, node);
}

TaskResource TaskRoom::scarcest(JobId job, const FreeIndex& free, std::uint32_t task_gpus) const {
  const std::vector<TaskNeed>* const needs = limits_ == nullptr ? nullptr : limits_->needs_of(job);
  if (needs == nullptr) return TaskResource::kOther;
  std::int64_t most_lost = 0;
  TaskResource scarcest = TaskResource::kOther;
  for (const TaskNeed& need : *needs) {
    std::int64_t lost = 0;
    for (std::size_t node = 0; node * limits_->resources_ < left_.size(); ++node) {
      const std::int64_t tasks = free.on(NodeId(node)) / task_gpus;
      lost +=
          tasks - std::min<std::int64_t>(tasks, tasks_in(left_.data() + node * limits_->resources_,
                                                         limits_->resources_, {need}));
    }
    if (lost <= most_lost) continue;
    most_lost = lost;
    scarcest = need.resource < limits_->names_.size() ? limits_->names_[need.resource]
                                                      : TaskResource::kOther;
  }
  return scarcest;
}

void TaskRoom::add(JobId job, NodeId node, std::int64_t tasks) {
  // Changed limits: the next begin() counts all tasks again.
  if (limits_ == nullptr || limits_->version_ != version_) return;
  const std::vector<TaskNeed>* const needs = limits_->needs_of(job);
  if (needs == nullptr) return;
  for (const TaskNeed& need : *needs) {
    if (need.resource >= limits_->resources_) continue;
    left_[node.row() * limits_->resources_ + need.resource] += tasks * need.amount;
  }
}

}  // namespace fairlead
