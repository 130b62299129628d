#include "fairlead/sim/limit_holds.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fairlead {

LimitHolds::LimitHolds(const Cluster& cluster, const Jobs& asked, LimitedJobs limited,
                       IdVector<JobId, std::uint32_t> gpus_of)
    : cluster_(cluster),
      asked_(asked),
      limited_(std::move(limited)),
      gpus_of_(std::move(gpus_of)),
      room_(limited_.limits, LimitRoom::Passing::kSmallOne),
      states_(gpus_of_.size()),
      used_(cluster.nodes()) {}

void LimitHolds::begin_run(JobId job, Gang gang) {
  for (const Slice slice : gang) used_[slice.node] += slice.gpus;
  if (!is_limited(job) || states_[job] == State::kStarted) return;
  FL_CHECK(states_[job] == State::kReleased, "job {} starts while a limit holds it", job.row());
  FL_CHECK(!room_.take(gpus_of_[job], limited_.of_job[job]), "job {} exceeds a limit", job.row());
  states_[job] = State::kStarted;
  std::erase(waiting_, job);
}

void LimitHolds::end_run(Gang gang) {
  for (const Slice slice : gang) used_[slice.node] -= slice.gpus;
}

void LimitHolds::finish(JobId job) {
  if (is_limited(job)) room_.give_back(gpus_of_[job], limited_.of_job[job]);
}

void LimitHolds::decide(Time now) {
  if (changes().any()) next_ = now + milliseconds(1);
}

// Returns whether enough GPUs are free for the tasks of the job, on whatever nodes of its types.
bool LimitHolds::has_gpus(JobId job) const {
  std::uint32_t free = 0;
  for (const NodeId node : ids<NodeId>(cluster_.nodes())) {
    if ((asked_.types[job] & type_bit(cluster_.node_type[node])) == 0) continue;
    const std::uint32_t left = cluster_.node_gpus[node] - used_[node];
    free += left - left % asked_.task_gpus[job];
  }
  return free >= asked_.gpus[job];
}

// Returns the jobs to hold and to release now, by arrival.
LimitHolds::Changes LimitHolds::changes() const {
  LimitRoom room = room_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, TypeMask>, bool> known;
  std::vector<char> has(waiting_.size(), 0);
  std::vector<char> released(waiting_.size(), 0);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const JobId job = waiting_[i];
    const auto [found, is_new] =
        known.try_emplace({asked_.gpus[job], asked_.task_gpus[job], asked_.types[job]});
    if (is_new) found->second = has_gpus(job);
    has[i] = found->second ? 1 : 0;
  }
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const JobId job = waiting_[i];
      if ((has[i] != 0) == first)
        released[i] = room.take(gpus_of_[job], limited_.of_job[job]) ? 0 : 1;
    }
  }
  Changes changes;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const bool was = states_[waiting_[i]] == State::kReleased;
    if (was == (released[i] != 0)) continue;
    (was ? changes.held : changes.released).push_back(waiting_[i]);
  }
  return changes;
}

// Ends of jobs come first, then holds, changes of nodes, releases, and arrivals, each with its hold.
void LimitHolds::add_to(std::vector<Event>& events) {
  next_ = Time::never();
  for (const Event& event : events) {
    if (event.kind != EventKind::kArrived || !is_limited(event.job)) continue;
    states_[event.job] = State::kReleased;
    waiting_.push_back(event.job);
  }
  Changes changes = this->changes();
  std::ranges::sort(changes.held);
  std::ranges::sort(changes.released);
  const auto is_held = [&](const Event& event) {
    return event.kind == EventKind::kArrived && std::ranges::binary_search(changes.held, event.job);
  };
  const std::vector<Event> given(events.begin(), events.end());
  std::vector<JobId> held = changes.held;
  std::erase_if(held, [&](JobId job) {
    return std::ranges::any_of(given, [&](const Event& event) {
      return event.kind == EventKind::kArrived && event.job == job;
    });
  });
  const auto add = [&](EventKind kind, const std::vector<JobId>& jobs) {
    for (const JobId job : jobs) {
      states_[job] = kind == EventKind::kHeld ? State::kHeld : State::kReleased;
      events.push_back({.kind = kind, .job = job});
    }
  };
  events.clear();
  auto at = given.begin();
  for (; at != given.end() && at->kind < EventKind::kHeld; ++at) events.push_back(*at);
  add(EventKind::kHeld, held);
  for (; at != given.end() && at->kind < EventKind::kReleased; ++at) events.push_back(*at);
  add(EventKind::kReleased, changes.released);
  for (; at != given.end(); ++at) {
    events.push_back(*at);
    if (is_held(*at)) add(EventKind::kHeld, {at->job});
  }
}

}  // namespace fairlead
