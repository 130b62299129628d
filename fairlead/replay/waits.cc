#include "fairlead/replay/waits.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/registry.h"

#include <algorithm>
#include <bit>

namespace fairlead {

std::vector<const Wait*> longest_waits(const JobWaits& job, std::size_t most) {
  std::vector<const Wait*> longest;
  for (const Wait& wait : job.waits) longest.push_back(&wait);
  std::ranges::stable_sort(longest, std::ranges::greater(),
                           [](const Wait* wait) { return wait->to - wait->from; });
  longest.resize(std::min(most, longest.size()));
  std::ranges::sort(longest, {}, [](const Wait* wait) { return wait->from; });
  return longest;
}

namespace {

PlacementTraits traits_of(const record::Run& run) {
  const auto choice = parse_policy(
      run.options.empty() ? std::string(run.policy) : fmt::format("{}:{}", run.policy, run.options),
      0);
  return choice ? choice->entry->traits(choice->options) : PlacementTraits{};
}

}  // namespace

void Waits::on(const Record& record) {
  if (!status_) return;
  move_on(record.t);
  if (const auto* node = std::get_if<record::Node>(&record.what)) status_ = check(*node);
  if (!status_) return;
  before(record);
  moment_.before(record);
  tables_.apply(record);
  moment_.after(record);
  after(record);
}

Status Waits::check(const record::Node& node) const {
  const Cluster::NodeRow row = {.name = node.name,
                                .type = node.type,
                                .host = node.host,
                                .rack = node.rack,
                                .gpus = node.gpus};
  if (!tables_.cluster.can_add(row))
    return input_error("no cluster can have the node {}", node.name);
  return {};
}

// Advances to `to` in the present state.
void Waits::move_on(Time to) {
  if (to == now_) return;
  for (JobId job : ending_) close_wait(*watched_[job]);
  for (JobId job : leaving_) watched_[job].reset();
  ending_.clear();
  leaving_.clear();
  is_pending_ = false;
  for (JobId job : waiting_) judge(*watched_[job], to);
  placed_.clear();
  if (moment_.has_come()) sums_.pass(moment_.free(), tables_.cluster.type_names.size(), now_, to);
  if (is_pending_) moment_.keep_free();
  now_ = to;
}

// Reads the GPUs that a record takes from a job: they are gone once the record is applied.
void Waits::before(const Record& record) {
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   lose_gang(what.job);
                   leave(what.job);
                 },
                 [&](const record::Evicted& what) {
                   lose_gang(what.job);
                   begin_wait(what.job, WaitBegin::kEvicted);
                 },
                 [&](const record::StartFailed& what) {
                   lose_gang(what.job);
                   begin_wait(what.job, WaitBegin::kStartFailed);
                 },
                 [&](const record::Stop& what) {
                   lose_gang(what.job);
                   if (what.cause == StopCause::kCancelled) return;
                   begin_wait(
                       what.job,
                       what.cause == StopCause::kHeld ? WaitBegin::kHeldBack : WaitBegin::kStopped,
                       what.cause);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Waits::after(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::Arrived& arrived) { come(arrived.asked); },
                 [&](const record::Place& place) { on_place(place); },
                 [&](const Note& note) { on_note(note); },
                 [&](const record::Run& run) {
                   label_.policy = run.policy;
                   label_.options = run.options;
                   moment_.set_traits(own_traits_ ? *own_traits_ : traits_of(run));
                 },
                 [&](const record::User&) { users_.push_back({}); },
                 [&](const record::End&) {
                   const std::vector<JobId> pending(waiting_.begin(), waiting_.end());
                   for (JobId job : pending) end_wait(job);
                   for (JobId job : ending_) close_wait(*watched_[job]);
                   ending_.clear();
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Waits::come(const JobSpec& asked) {
  work_.grow_to(asked.job) = asked.work;
  if (!since_.has(asked.job)) since_.resize(asked.job.row() + std::size_t{1}, Time::never());
  watched_.grow_to(asked.job);
  const Watch watch = watches_(asked);
  if (watch != Watch::kNot) {
    watched_[asked.job] = std::make_unique<Watched>(Watched{
        .job = asked.job, .row = jobs_.size(), .details = watch >= Watch::kPieces, .since = now_});
    jobs_.push_back({.job = asked.job});
    if (watch == Watch::kRivals) rivalled_.insert(asked.job);
  }
  begin_wait(asked.job, WaitBegin::kSubmitted);
}

void Waits::begin_wait(JobId job, WaitBegin begin, StopCause cause) {
  since_[job] = now_;
  Watched* watched = watched_[job].get();
  if (watched == nullptr) return;
  const auto ending = std::ranges::find(ending_, job);
  if (ending != ending_.end()) {  // a run started and ended at this moment
    ending_.erase(ending);
    close_wait(*watched);
  }
  watched->since = now_;
  watched->begin = begin;
  watched->cause = cause;
  watched->stopped_for = {};
  watched->pieces.clear();
  watched->unexplained.clear();
  waiting_.insert(job);
}

void Waits::end_wait(JobId job) {
  since_[job] = Time::never();
  if (waiting_.erase(job) > 0) ending_.push_back(job);
}

void Waits::leave(JobId job) {
  end_wait(job);
  if (watched_[job] == nullptr) return;
  rivalled_.erase(job);
  leaving_.push_back(job);
}

void Waits::lose_gang(JobId job) {
  const Tables& tables = tables_;
  if (tables.jobs.state[job] != JobState::kRunning) return;
  const auto masks = tables.jobs.gangs.gpu_masks(tables.jobs.last[job]);
  Watched* watched = watched_[job].get();
  if (watched != nullptr) watched->lost.clear();
  std::size_t i = 0;
  for (Slice slice : tables.jobs.last_gang(job)) {
    const GpuTypeId type = tables.cluster.node_type[slice.node];
    sums_.add_allocated(tables.jobs.user[job], type, -std::int64_t{slice.gpus}, now_);
    if (watched != nullptr) watched->lost.emplace_back(slice.node, masks[i]);
    ++i;
  }
}

}  // namespace fairlead
