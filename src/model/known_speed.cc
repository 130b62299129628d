#include "fairlead/model/known_speed.h"

#include <algorithm>
#include <tuple>

namespace fairlead {

KnownSpeed::KnownSpeed(const Speed& truth, const Cluster& cluster, const Jobs& jobs,
                       RatesNeeded needed, const ProfileOptions& options)
    : truth_(truth), cluster_(cluster), jobs_(jobs), needed_(needed), options_(options) {
  FL_CHECK(options_.noise >= 0 && options_.noise <= 1, "noise {}", options_.noise);
  if (needed_ == RatesNeeded::kProfiled) number_profiles();
}

void KnownSpeed::number_profiles() {
  std::vector<JobId> order;
  order.reserve(jobs_.size());
  for (JobId job : ids<JobId>(jobs_.size())) order.push_back(job);
  const auto key = [&](JobId job) { return std::tuple(jobs_.user[job], jobs_.model[job]); };
  std::ranges::sort(
      order, [&](JobId a, JobId b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
  profile_.resize(jobs_.size());
  std::uint32_t profiles = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && key(order[i]) != key(order[i - 1])) ++profiles;
    profile_[order[i]] = profiles;
  }
  FL_CHECK(profiles < std::max<std::size_t>(order.size(), 1), "{} profiles", profiles);
  known_at_.resize((std::size_t{profiles} + 1) * cluster_.type_names.size(), Time::never());
}

std::optional<Rate> KnownSpeed::rate(JobId job, GpuTypeId type, std::uint32_t gpus,
                                     Tier tier) const {
  if (needed_ == RatesNeeded::kNone) return std::nullopt;
  if (needed_ == RatesNeeded::kTable) return truth_.rate(job, type, gpus, tier);
  const std::size_t at = row(job, type);
  if (known_at_[at] > now_) return std::nullopt;
  const Rate rate = truth_.rate(job, type, gpus, tier);
  if (options_.noise == 0) return rate;
  return Rate::of(std::min(rate.value() * error_of(at), 1e6));
}

std::optional<double> KnownSpeed::skew(JobId job) const {
  const ModelProfile* const model = truth_.profile(job);
  if (model == nullptr || !model->communication) return std::nullopt;
  const Communication& exchanged = *model->communication;
  if (exchanged.largest_tensor_mb == 0) return std::nullopt;
  return exchanged.largest_tensor_mb / exchanged.gradients_mb;
}

double KnownSpeed::error_of(std::size_t row) const {
  Rng rng = Rng(options_.seed).split(row);
  return 1 + options_.noise * (2 * rng.uniform() - 1);
}

void KnownSpeed::on_hold(JobId job, Gang gang, Duration overhead) {
  FL_DCHECK(!gang.empty() && overhead >= Duration{}, "job {}, {} ms", job.row(), overhead.ms);
  if (needed_ != RatesNeeded::kProfiled) return;
  for (Slice slice : gang) {
    Time& known = known_at_[row(job, cluster_.node_type[slice.node])];
    known = std::min(known, now_ + overhead + options_.length);
  }
}

}  // namespace fairlead
