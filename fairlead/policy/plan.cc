#include "fairlead/policy/plan.h"

#include "fairlead/model/levels.h"

#include <algorithm>

namespace fairlead {

Plan::Plan(const Cluster& cluster, Jobs& jobs)
    : cluster_(&cluster), jobs_(&jobs), free_(cluster), gangs_(jobs.size()) {}

void Plan::add_job(JobId job) { gangs_.grow_to(job); }

void Plan::refuse(JobId job, std::string_view why) {
  if (misuse_.what.empty()) misuse_ = {std::string(why), job};
}

void Plan::take(NodeId node, std::uint32_t gpus) {
  if (!allow(free_.has(node), JobId::none(), "take: there is no such node")) return;
  if (!allow(gpus > 0, JobId::none(), "take: no GPU at all")) return;
  if (!allow(gpus <= free_.on(node), JobId::none(), "take: the node has fewer GPUs free")) return;
  free_.take(node, gpus);
  open_.push_back({node, static_cast<std::uint16_t>(gpus)});
}

void Plan::place(JobId job) {
  if (!allow(gangs_.has(job), job, "place: there is no such job")) return;
  if (!allow(!open_.empty(), job, "place: no slice was taken for it")) return;
  if (!allow(!has_gang(job), job, "place: it has a gang already")) return;
  const JobState state = jobs_->state[job];
  if (!allow(state == JobState::kWaiting || state == JobState::kRunning, job,
             "place: it neither waits nor runs")) {
    return;
  }
  tidy_open();
  if (!allow(!open_splits_a_task(job), job, "place: it splits a task")) return;
  if (!allow(open_is_within(closeness(job).required), job,
             "place: it is not within the level that the job requires")) {
    return;
  }
  gangs_[job] = jobs_->gangs.add(open_);
  edits_.push_back({job, {}, gangs_[job]});
  open_.clear();
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
  const GangRef before = gangs_[job];
  gangs_[job] = jobs_->gangs.add(copies_);
  edits_.push_back({job, before, gangs_[job]});
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
    jobs_->gangs.release(edit.after);
    gangs_[edit.job] = edit.before;
  }
  wakes_.resize(mark.wakes);
  notes_.resize(mark.notes);
}

void Plan::world_took_away(JobId job) {
  for (Slice slice : gang(job)) free_.give(slice.node, slice.gpus);
  gangs_[job] = {};
}

void Plan::begin(Time now) {
  now_ = now;
  edits_.clear();
  wakes_.clear();
  notes_.clear();
}

}  // namespace fairlead
