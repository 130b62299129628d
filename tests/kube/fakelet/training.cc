#include "training.h"

#include <algorithm>

namespace fairlead {

Result<Training> Training::make(const TrainingWorld& world, const TrainingAsk& ask) {
  WorkloadBuilder builder("played", Reading::kStrict);
  FL_TRY(builder.add(
      {.id = "job", .model = ask.model, .gpus = ask.gpus, .submit = {}, .duration = ask.work},
      "annotations"));
  Workload workload = builder.finish();
  FL_TRY_ASSIGN(speed, Speed::make(world.cluster, world.models, workload, world.reference_gpu,
                                   world.network));
  return Training(world, std::move(speed), ask.work);
}

void Training::begin(Time now, std::vector<Slice> gang) {
  FL_CHECK(!begun_ && !gang.empty(), "a gang of {} slices begins", gang.size());
  std::ranges::sort(gang, {}, &Slice::node);
  place_ = gang_.empty()   ? PlaceKind::kStart
           : gang_ == gang ? PlaceKind::kResume
                           : PlaceKind::kMigrate;
  begun_ = now;
  gang_ = std::move(gang);
  overhead_ = world_->costs.overhead(place_, gpus_of(gang_), speed_.profile(JobId(0)));
  rate_ = speed_.rate(JobId(0), gang_);
}

void Training::end(Time now, bool saved) {
  FL_CHECK(begun_.has_value(), "what does not train ends");
  if (!saved && world_->checkpoint_interval > Duration{}) {
    const Duration ran = std::max(now - *begun_ - overhead_, Duration{});
    now = *begun_ + overhead_ + Duration{ran.ms - ran.ms % world_->checkpoint_interval.ms};
  }
  kept_ = done_by(now);
  begun_.reset();
  if (!saved) gang_.clear();
}

Work Training::done_by(Time now) const {
  if (!begun_) return kept_;
  const Duration ran = std::max(now - *begun_ - overhead_, Duration{});
  return std::min(work_, kept_ + fairlead::progress(rate_, ran));
}

Time Training::done_at() const {
  if (!begun_ || rate_ == Rate{}) return Time::never();
  return *begun_ + overhead_ + time_to_finish(work_ - kept_, rate_);
}

double Training::progress(Time now) const {
  return static_cast<double>(done_by(now).fixed) / static_cast<double>(work_.fixed);
}

}  // namespace fairlead
