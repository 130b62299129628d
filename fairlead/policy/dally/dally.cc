#include "fairlead/policy/dally/dally.h"

#include "fairlead/policy/kit/placement.h"

#include <algorithm>

namespace fairlead {

void Dally::decide(const View& view, Plan& plan) {
  tiers_.refresh(view);
  crowding_.begin(view, plan);
  apply_news(view);
  waiting_.refresh(view.now);
  start_waiting(view, plan);
  if (options_.preempt != DallyPreempt::kNone && rounds_.due(view.now, plan)) {
    moves_.run(view, plan);
    start_waiting(view, plan);  // for victims: they may find room elsewhere
  }
  waiting_.refresh(view.now);
  ask_to_be_woken(view, plan, waiting_.note(view, plan));
}

void Dally::apply_news(const View& view) {
  for (const Event& event : view.news) {
    if (begins_to_wait(event.kind)) waiting_.add(view, order_.queue(view, event.job));
    if (ends_job(event.kind)) waiting_.remove(event.job);
  }
}

void Dally::start_waiting(const View& view, Plan& plan) {
  refused_.clear();
  waiting_.start([&](JobId job) { return start(view, plan, job); });
}

// Capacity only shrinks meanwhile, so a job is refused at once if it wants GPUs that were refused
// before.
bool Dally::start(const View& view, Plan& plan, JobId job) {
  if (plan.free().total() < view.jobs.gpus[job]) return false;
  if (plan.is_pinned(job)) return return_to_gpus(view, plan, job);
  const Want want{gang_asked(view.jobs, job), view.jobs.types[job], waiting_.accepts(view, job)};
  if (std::ranges::find(refused_, want) != refused_.end()) return false;
  if (!plan.examine(job)) return false;
  const JobTiers& tiers = tiers_.of(view, job);
  bool had_room = false;
  for (DallyTier tier : kDallyTierList) {
    const TypeMask types = want.at[index_of(tier)];
    if (types == 0) continue;
    const auto place = fastest_place(view, plan, tiers, tier, types, job);
    if (!place) continue;
    had_room = true;
    if (take(view, plan, job, *place)) return true;
  }
  if (tiers.must_mix() &&
      place(Placement::kBestFit.mixing(), view.cluster, plan, job, want.gang.gpus, want.types)) {
    crowding_.placed(view, plan, job);
    return true;
  }
  if (!had_room) refused_.push_back(want);
  return false;
}

// Has no timer: a pinned job has no choice.
bool Dally::return_to_gpus(const View& view, Plan& plan, JobId job) {
  if (!plan.place_pinned(job)) return false;
  crowding_.placed(view, plan, job);
  return true;
}

// Places the job, unless the links there are so crowded that it is worth waiting longer.
bool Dally::take(const View& view, Plan& plan, JobId job, const DallyPlace& place) {
  const Plan::Mark before = plan.mark();
  if (!place_there(view, plan, place, job)) return false;
  const JobTiers& tiers = tiers_.of(view, job);
  if (crowding_.is_seen() && place.tier > tiers.best()) {
    const Gang gang = plan.gang(job);
    const double rate = tiers.rate(place.type, place.tier) * crowding_.speed_at(view, job, gang);
    const double lost = crowding_.loss_of_others(view, job, gang);
    if (waiting_.refuses_until(view, job, rate, lost) > view.now) {
      plan.rollback(before);
      return false;
    }
  }
  crowding_.placed(view, plan, job);
  waiting_.accepted(view, job, place.tier);
  return true;
}

void Dally::ask_to_be_woken(const View& view, Plan& plan, Time next_tier) {
  if (next_tier != Time::never() && (wake_ <= view.now || next_tier < wake_)) {
    wake_ = next_tier;
    plan.wake_at(wake_);
  }
  if (options_.preempt == DallyPreempt::kNone) return;
  // If no job runs, a round changes nothing.
  if (plan.free().all_free()) return;
  const auto could = [&](JobId job) { return moves_.could_be_faster(view, plan, job); };
  const bool is_of_use = !waiting_.empty() || std::ranges::any_of(view.running, could) ||
                         std::ranges::any_of(view.waiting, could);  // if it was placed just now
  if (is_of_use) rounds_.wake(view.now, plan);
}

void Dally::fields(Archive& archive) { archive(rounds_, wake_, waiting_); }

}  // namespace fairlead
