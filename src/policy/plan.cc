#include "fairlead/policy/plan.h"

#include <algorithm>

namespace fairlead {

Plan::Plan(const Cluster& cluster, Jobs& jobs) : jobs_(&jobs), free_(cluster), held_(jobs.size()) {}

void Plan::take(NodeId node, std::uint32_t gpus) {
  FL_CHECK(gpus > 0);
  free_.take(node, gpus);
  open_.push_back({node, static_cast<std::uint16_t>(gpus)});
}

void Plan::place(JobId job) {
  FL_CHECK(!open_.empty(), "job {}: place without a slice", job.row());
  FL_CHECK(!holds(job), "job {} holds a gang already", job.row());
  FL_CHECK(jobs_->state[job] == JobState::kWaiting || jobs_->state[job] == JobState::kRunning,
           "job {} cannot run now", job.row());
  tidy_open();
  held_[job] = jobs_->gangs.add(open_);
  edits_.push_back({job, {}, held_[job]});
  open_.clear();
}

// The copies held and the new one are numbered anew, by their first nodes.
void Plan::place_copy(JobId job) {
  FL_CHECK(!open_.empty(), "job {}: place_copy without a slice", job.row());
  FL_CHECK(holds(job), "job {} holds nothing to copy", job.row());
  tidy_open();
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
    for (Slice slice : next) {
      FL_CHECK(std::ranges::find(open_, slice.node, &Slice::node) == open_.end(),
               "job {} has a copy on node {} already", job.row(), slice.node.row());
    }
    if (!is_added && open_[0].node < next[0].node) {
      add(open_);
      is_added = true;
    }
    add(next);
  }
  if (!is_added) add(open_);
  const GangRef before = held_[job];
  held_[job] = jobs_->gangs.add(copies_);
  edits_.push_back({job, before, held_[job]});
  open_.clear();
}

// Sorts the open gang by node and adds up what was taken from one node.
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

void Plan::stop(JobId job) {
  FL_CHECK(holds(job), "job {} holds nothing", job.row());
  for (Slice slice : gang(job)) free_.give(slice.node, slice.gpus);
  edits_.push_back({job, held_[job], {}});
  held_[job] = {};
}

void Plan::wake_at(Time t) {
  FL_CHECK(t > now_, "wake at {} ms, now {} ms", t.ms, now_.ms);
  wakes_.push_back(t);
}

void Plan::note(const Note& note) { notes_.push_back(note); }

Plan::Mark Plan::mark() const {
  FL_CHECK(open_.empty());
  return {edits_.size(), wakes_.size(), notes_.size()};
}

void Plan::rollback(Mark mark) {
  drop();
  while (edits_.size() > mark.edits) {
    const Edit edit = edits_.back();
    edits_.pop_back();
    for (Slice slice : jobs_->gangs.gang(edit.after)) free_.give(slice.node, slice.gpus);
    for (Slice slice : jobs_->gangs.gang(edit.before)) free_.take(slice.node, slice.gpus);
    jobs_->gangs.release(edit.after);
    held_[edit.job] = edit.before;
  }
  wakes_.resize(mark.wakes);
  notes_.resize(mark.notes);
}

void Plan::world_took_away(JobId job) {
  for (Slice slice : gang(job)) free_.give(slice.node, slice.gpus);
  held_[job] = {};
}

void Plan::begin(Time now) {
  now_ = now;
  edits_.clear();
  wakes_.clear();
  notes_.clear();
}

}  // namespace fairlead
