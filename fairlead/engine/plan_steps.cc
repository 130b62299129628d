#include "fairlead/engine/plan_steps.h"

#include <algorithm>
#include <utility>

namespace fairlead {

PlanSteps::PlanSteps(EngineState& state, std::size_t jobs)
    : state_(state), plan_(state.plan), jobs_(state.tables.jobs), grants_(state.tables) {
  changed_at_.reserve(jobs);
}

Plan& PlanSteps::begin() {
  ++state_.counts.decisions;
  return plan_.begin(state_.now, state_.tables.running.members());
}

Status PlanSteps::check(const Policy& policy) {
  plan_.make_way(state_.tables.running.members());
  collect_changes();
  drop_unchanged();
  const Plan::Misuse& first = plan_.misuse();
  if (!first.what.empty()) return misuse(policy, first.job, first.what);
  if (plan_.has_open_gang()) return misuse(policy, JobId::none(), "decide: a gang is left open");
  for (const Change& change : changes_) {
    if (plan_.has_gang(change.job)) FL_TRY(check_gang(change.job, policy));
  }
  return {};
}

Status PlanSteps::check_gang(JobId job, const Policy& policy) const {
  const Needs needs = policy.needs();
  const Cluster& cluster = state_.tables.cluster;
  const Gang present = jobs_.gangs.gang(plan_.gang(job));
  if (copies_of(present) > 1 && !needs.copies) {
    return misuse(policy, job, "place_copy: its needs() do not ask for copies");
  }
  const std::uint32_t most = jobs_.extras_of(job).most_copies(cluster.nodes());
  if (copies_of(present) > most) {
    return misuse(
        policy, job,
        fmt::format("place_copy: {} copies, where {} are allowed", copies_of(present), most));
  }
  const std::uint32_t gpus_min = needs.elastic ? jobs_.gpus_min[job] : jobs_.gpus[job];
  const std::uint32_t gpus_max = needs.elastic ? jobs_.gpus_max[job] : jobs_.gpus[job];
  for (Gang left = present; !left.empty();) {
    const Gang gang = first_copy(left);
    left = left.subspan(gang.size());
    const std::uint32_t gpus = gpus_of(gang);
    if ((gpus < gpus_min || gpus > gpus_max) && !jobs_.is_pinned(job)) {
      return misuse(policy, job,
                    fmt::format("place: a gang of {} GPUs, where {} to {} are allowed", gpus,
                                gpus_min, gpus_max));
    }
  }
  for (Slice slice : present) {
    if ((jobs_.types[job] & type_bit(cluster.node_type[slice.node])) == 0) {
      return misuse(
          policy, job,
          fmt::format("place: its model does not run on node {}", cluster.node_names[slice.node]));
    }
  }
  return {};
}

tl::unexpected<Error> PlanSteps::misuse(const Policy& policy, JobId job,
                                        std::string_view what) const {
  const std::string about = job.is_none() || !jobs_.user.has(job)
                                ? ""
                                : fmt::format(": job {}", state_.tables.names[job]);
  return run_error("policy {} broke a rule of Plan at {} s: {}{}", policy.name(),
                   to_seconds(state_.now), what, about);
}

// Reduces the plan's edits to one change per job, and frees the gangs that lived only in the draft.
void PlanSteps::collect_changes() {
  changes_.clear();
  for (const EnginePlan::Edit& edit : plan_.edits()) {
    std::int64_t& changed_at = changed_at_.grow_to(edit.job);
    if (changed_at == state_.counts.decisions) {
      jobs_.gangs.release(edit.before);  // placed and stopped again within this plan
      continue;
    }
    changed_at = state_.counts.decisions;
    changes_.push_back({edit.job, edit.before, edit.cause});
  }
}

// Drops the changes of jobs that end up with the same gang as before, unless a pinned job needs its GPUs.
void PlanSteps::drop_unchanged() {
  std::erase_if(changes_, [this](const Change& change) {
    const GangRef after = plan_.gang(change.job);
    if (!std::ranges::equal(jobs_.gangs.gang(change.before), jobs_.gangs.gang(after))) return false;
    if (plan_.is_in_the_way(change.job, change.before)) return false;
    plan_.set_gang(change.job, change.before);
    jobs_.gangs.release(after);
    return true;
  });
}

void PlanSteps::commit(std::span<const Step> stops) {
  steps_.assign(stops.begin(), stops.end());
  log_stops();
  grant_gpus();
  for (const Change& change : changes_) {
    if (plan_.has_gang(change.job)) add_place_steps(change.job);
  }
  add_starts_without_gpus();
  state_.counts.steps += std::ssize(steps_);
  if (!steps_.empty()) keep_gangs_of_steps();
  // Without steps, too: what ended at this instant may leave others more of their links.
  const std::span<const SpeedChange> speeds = state_.world->expect(state_.now, steps_);
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kPlace) log_place(step);
  }
  for (const SpeedChange& change : speeds) state_.change_speed(change.job, change.rate);
  for (const Note& note : plan_.notes()) state_.log(note);
  if (!steps_.empty()) state_.world->carry_out(state_.now, steps_);
}

void PlanSteps::log_stops() {
  for (const Change& change : changes_) {
    if (change.before.empty()) continue;
    steps_.push_back({.kind = Step::Kind::kStop, .job = change.job, .run = jobs_.run[change.job]});
    state_.stop_run(change.job);
    state_.log(record::Stop{
        .job = change.job, .cause = change.cause, .is_reported = state_.world->reports_steps()});
  }
}

// Jobs that resume in place get their GPUs before others take the lowest free ones, pinned jobs first.
void PlanSteps::grant_gpus() {
  for (const bool pinned : {true, false}) {
    for (Change& change : changes_) {
      if (jobs_.is_pinned(change.job) != pinned) continue;
      change.keeps_gpus = grants_.keep(change.job, plan_.gang(change.job));
    }
  }
  for (const Change& change : changes_) {
    if (change.keeps_gpus || !plan_.has_gang(change.job)) continue;
    grants_.grant(change.job, plan_.gang(change.job), *state_.world);
  }
}

void PlanSteps::add_place_steps(JobId job) {
  FL_CHECK(jobs_.state[job] == JobState::kWaiting, "job {} cannot be placed", job.row());
  const GangRef last = jobs_.last[job];
  const GangRef gang = plan_.gang(job);
  Gang left = jobs_.gangs.gang(gang);
  std::span<const std::uint64_t> masks = std::as_const(jobs_.gangs).gpu_masks(gang);
  const bool same_slices = std::ranges::equal(jobs_.gangs.gang(last), left);
  Step step;
  step.kind = Step::Kind::kPlace;
  step.job = job;
  step.run = jobs_.run[job] + 1;
  step.place = last.empty()  ? PlaceKind::kStart
               : same_slices ? PlaceKind::kResume
                             : PlaceKind::kMigrate;
  step.copies = copies_of(left);
  for (; !left.empty(); ++step.copy) {
    step.gang = first_copy(left);
    step.gpu_masks = masks.first(step.gang.size());
    left = left.subspan(step.gang.size());
    masks = masks.subspan(step.gang.size());
    steps_.push_back(step);
  }
}

void PlanSteps::add_starts_without_gpus() {
  const std::size_t first = steps_.size();
  for (JobId job : state_.tables.waiting_without_gpus.members()) {
    Step step;
    step.kind = Step::Kind::kPlace;
    step.job = job;
    step.run = jobs_.run[job] + 1;
    steps_.push_back(step);
  }
  std::ranges::sort(std::span(steps_).subspan(first), {}, &Step::job);
}

// Moves the gangs of the steps out of the plan's storage, which the tables are about to change.
void PlanSteps::keep_gangs_of_steps() {
  step_gangs_.slices.clear();
  step_gangs_.masks.clear();
  for (const Step& step : steps_) {
    step_gangs_.slices.insert(step_gangs_.slices.end(), step.gang.begin(), step.gang.end());
    step_gangs_.masks.insert(step_gangs_.masks.end(), step.gpu_masks.begin(), step.gpu_masks.end());
  }
  std::size_t at = 0;
  for (Step& step : steps_) {
    const std::size_t size = step.gang.size();
    step.gang = Gang(step_gangs_.slices).subspan(at, size);
    step.gpu_masks = std::span<const std::uint64_t>(step_gangs_.masks).subspan(at, size);
    at += size;
    if (step.kind == Step::Kind::kPlace && step.copy == 0) {
      plan_.unpin(step.job);
      jobs_.gangs.release(plan_.gang(step.job));
      plan_.set_gang(step.job, {});
    }
  }
}

void PlanSteps::log_place(const Step& step) {
  const record::Place place{.job = step.job,
                            .kind = step.place,
                            .gang = step.gang,
                            .gpu_masks = step.gpu_masks,
                            .rate = step.rate,
                            .overhead = step.overhead,
                            .is_reported = state_.world->reports_steps(),
                            .locality = step.locality,
                            .copy = step.copy};
  state_.begin_run(place);
  state_.log(place);
  grants_.journalled(step.gang);
  state_.keep_gang(step.job);
}

}  // namespace fairlead
