#include "fairlead/policy/plan.h"

#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/decision_budget.h"

#include <algorithm>
#include <utility>

namespace fairlead {

Plan::Plan(const Cluster& cluster, Jobs& jobs)
    : cluster_(&cluster), jobs_(&jobs), free_(cluster), gangs_(jobs.size()) {
  room_.begin(jobs.limits, cluster.nodes());
}

void Plan::refuse(JobId job, std::string_view why) {
  if (misuse_.what.empty()) misuse_ = {std::string(why), job};
}

bool Plan::admits(JobId job, Search search) {
  if (jobs_->state[job] == JobState::kRunning) return true;
  switch (search) {
    case Search::kNone:
      return budget_->may_examine(job);
    case Search::kFirst:
      return budget_->examine(job);
    case Search::kRepeated:
      return budget_->examine_again(job);
  }
  return false;
}

bool Plan::is_cut() const { return budget_ != nullptr && budget_->is_cut(); }

bool Plan::continues() const { return budget_ != nullptr && budget_->continues(); }

bool Plan::in_round(bool is_due) { return budget_ == nullptr ? is_due : budget_->in_round(is_due); }

void Plan::take(NodeId node, std::uint32_t gpus) {
  if (!allow(free_.has(node), JobId::none(), "take: there is no such node")) return;
  if (!allow(gpus > 0, JobId::none(), "take: no GPU at all")) return;
  if (!allow(gpus <= free_.on(node), JobId::none(), "take: the node has fewer GPUs free")) return;
  free_.take(node, gpus);
  open_.push_back({node, static_cast<std::uint16_t>(gpus)});
}

bool Plan::may_place(JobId job) {
  if (!allow(gangs_.has(job), job, "place: there is no such job")) return false;
  if (!allow(!has_gang(job), job, "place: it has a gang already")) return false;
  const JobState state = jobs_->state[job];
  return allow(state == JobState::kWaiting || state == JobState::kRunning, job,
               "place: it neither waits nor runs");
}

bool Plan::place(JobId job) {
  const bool has_slices = !gangs_.has(job) || !open_.empty();
  if (!allow(has_slices, job, "place: no slice was taken for it")) return false;
  if (!may_place(job)) return false;
  if (is_pinned(job)) {
    drop();
    return place_pinned(job);
  }
  tidy_open();
  if (!allow(!open_splits_a_task(job), job, "place: it splits a task")) return false;
  if (!allow(open_is_within(closeness(job).required), job,
             "place: it is not within the level that the job requires")) {
    return false;
  }
  if (!fits_open(job)) return false;
  gangs_[job] = jobs_->gangs.add(open_);
  edits_.push_back({job, {}, gangs_[job], StopCause::kPolicy});
  count_room(job, open_, true);
  open_.clear();
  return true;
}

std::uint32_t Plan::usable(JobId job, NodeId node) const {
  const std::uint32_t task = task_gpus(job);
  const std::uint32_t gpus = whole_tasks(free_.on(node), task);
  if (!room_.is_limited() || gpus == 0) return gpus;
  return std::min(gpus / task, room_.tasks(job, node)) * task;
}

std::uint32_t Plan::usable_when_idle(JobId job, NodeId node) const {
  const std::uint32_t task = task_gpus(job);
  const std::uint32_t tasks = cluster_->node_gpus[node] / task;
  return (room_.limits(job) ? std::min(tasks, jobs_->limits->most_tasks(job, node)) : tasks) * task;
}

bool Plan::fits_open(JobId job) {
  const std::uint32_t task = task_gpus(job);
  const bool fits = !room_.is_limited() || std::ranges::all_of(open_, [&](Slice slice) {
    return slice.gpus / task <= room_.tasks(job, slice.node);
  });
  if (!fits) drop();
  return fits;
}

void Plan::count_room(JobId job, Gang gang, bool takes) {
  if (!room_.is_limited()) return;
  for (Slice slice : gang) {
    const std::uint32_t tasks = slice.gpus / task_gpus(job);
    takes ? room_.take(job, slice.node, tasks) : room_.give(job, slice.node, tasks);
  }
}

bool Plan::place_pinned(JobId job) {
  if (!may_place(job)) return false;
  if (!allow(is_pinned(job) && open_.empty(), job, "place_pinned: it is not pinned")) return false;
  const GangRef last = jobs_->last[job];
  const Gang slices = jobs_->gangs.gang(last);
  const bool has_room = std::ranges::all_of(
      slices, [&](Slice slice) { return usable(job, slice.node) >= slice.gpus; });
  if (!has_room || overlaps(last, pinned_) || is_blocked(job)) return false;
  for (Slice slice : slices) free_.take(slice.node, slice.gpus);
  open_.assign(slices.begin(), slices.end());
  const GangRef gang = jobs_->gangs.add(open_);
  open_.clear();
  const GangPool& pool = jobs_->gangs;
  std::ranges::copy(pool.gpu_masks(last), jobs_->gangs.gpu_masks(gang).begin());
  gangs_[job] = gang;
  pin(job, gang);
  count_room(job, pool.gang(gang), true);
  edits_.push_back({job, {}, gang, StopCause::kPolicy});
  return true;
}

void Plan::pin(JobId job, GangRef gang) {
  if (!is_pinned(job)) return;
  const GangPool& pool = jobs_->gangs;
  std::size_t i = 0;
  for (Slice slice : pool.gang(gang)) pinned_.grow_to(slice.node) |= pool.gpu_masks(gang)[i++];
}

void Plan::unpin(JobId job, GangRef gang) {
  if (!is_pinned(job)) return;
  const GangPool& pool = jobs_->gangs;
  std::size_t i = 0;
  for (Slice slice : pool.gang(gang)) pinned_.grow_to(slice.node) &= ~pool.gpu_masks(gang)[i++];
}

bool Plan::is_blocked(JobId job) const {
  return is_pinned(job) && overlaps(jobs_->last[job], unusable_);
}

bool Plan::overlaps(GangRef gang, const NodeGpus& gpus) const {
  const GangPool& pool = jobs_->gangs;
  std::size_t i = 0;
  return std::ranges::any_of(pool.gang(gang), [&](Slice slice) {
    const std::uint64_t mask = pool.gpu_masks(gang)[i++];
    return gpus.has(slice.node) && (gpus[slice.node] & mask) != 0;
  });
}

bool Plan::has_copy_on_open_nodes(JobId job) const {
  return std::ranges::any_of(gang(job), [&](Slice slice) {
    return std::ranges::find(open_, slice.node, &Slice::node) != open_.end();
  });
}

// REQUIRES: the open gang is tidy.
bool Plan::open_splits_a_task(JobId job) const {
  const std::uint32_t task = task_gpus(job);
  return task > 1 &&
         std::ranges::any_of(open_, [&](Slice slice) { return slice.gpus % task != 0; });
}

bool Plan::open_is_within(Level level) const { return within(*cluster_, level, open_); }

// Numbers the job's present copies and the new one again, in the order of their first nodes.
void Plan::place_copy(JobId job) {
  if (!allow(gangs_.has(job), job, "place_copy: there is no such job")) return;
  if (!allow(!open_.empty(), job, "place_copy: no slice was taken for it")) return;
  if (!allow(has_gang(job), job, "place_copy: it has no gang to copy")) return;
  if (!allow(!has_copy_on_open_nodes(job), job, "place_copy: it has a copy on that node")) return;
  tidy_open();
  if (!allow(!open_splits_a_task(job), job, "place_copy: it splits a task")) return;
  if (!allow(open_is_within(closeness(job).required), job,
             "place_copy: it is not within the level that the job requires")) {
    return;
  }
  if (!fits_open(job)) return;
  copies_.clear();
  bool is_added = false;
  std::uint16_t copy = 0;
  const auto add = [&](Gang gang) {
    for (Slice slice : gang) copies_.push_back({slice.node, slice.gpus, copy});
    ++copy;
  };
  for (Gang left = gang(job); !left.empty();) {
    const Gang next = first_copy(left);
    left = left.subspan(next.size());
    if (!is_added && open_[0].node < next[0].node) {
      add(open_);
      is_added = true;
    }
    add(next);
  }
  if (!is_added) add(open_);
  count_room(job, open_, true);
  const GangRef before = gangs_[job];
  gangs_[job] = jobs_->gangs.add(copies_);
  edits_.push_back({job, before, gangs_[job], StopCause::kMove});
  open_.clear();
}

// Sorts the open gang by node and merges slices of the same node.
void Plan::tidy_open() {
  std::ranges::sort(open_, {}, &Slice::node);
  std::size_t last = 0;
  for (std::size_t i = 1; i < open_.size(); ++i) {
    if (open_[i].node == open_[last].node) {
      open_[last].gpus = static_cast<std::uint16_t>(open_[last].gpus + open_[i].gpus);
    } else {
      open_[++last] = open_[i];
    }
  }
  open_.resize(last + 1);
}

void Plan::drop() {
  for (Slice slice : open_) free_.give(slice.node, slice.gpus);
  open_.clear();
}

void Plan::stop(JobId job, StopCause cause) {
  if (!allow(gangs_.has(job) && has_gang(job), job, "stop: it has no gang")) return;
  if (!allow(!is_by_user(cause), job, "stop: the cause is reserved for its user")) return;
  for (Slice slice : gang(job)) free_.give(slice.node, slice.gpus);
  count_room(job, gang(job), false);
  unpin(job, gangs_[job]);
  edits_.push_back({job, gangs_[job], {}, cause});
  gangs_[job] = {};
}

void Plan::wake_at(Time t) {
  if (!allow(t > now_, JobId::none(), "wake_at: a time that is not later than now")) return;
  wakes_.push_back(t);
}

void Plan::note(const Note& note) { notes_.push_back(note); }

Plan::Mark Plan::mark() {
  allow(open_.empty(), JobId::none(), "mark: a gang is open");
  return {edits_.size(), wakes_.size(), notes_.size()};
}

void Plan::rollback(Mark mark) {
  if (!misuse_.what.empty()) return;
  drop();
  while (edits_.size() > mark.edits) {
    const Edit edit = edits_.back();
    edits_.pop_back();
    for (Slice slice : jobs_->gangs.gang(edit.after)) free_.give(slice.node, slice.gpus);
    for (Slice slice : jobs_->gangs.gang(edit.before)) free_.take(slice.node, slice.gpus);
    count_room(edit.job, jobs_->gangs.gang(edit.after), false);
    count_room(edit.job, jobs_->gangs.gang(edit.before), true);
    unpin(edit.job, edit.after);
    pin(edit.job, edit.before);
    jobs_->gangs.release(edit.after);
    gangs_[edit.job] = edit.before;
  }
  wakes_.resize(mark.wakes);
  notes_.resize(mark.notes);
}

}  // namespace fairlead
