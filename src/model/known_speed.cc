#include "fairlead/model/known_speed.h"

#include <algorithm>

namespace fairlead {

KnownSpeed::KnownSpeed(const Speed& truth, const Cluster& cluster, const Jobs& jobs,
                       RatesNeeded needed, const ProfileOptions& options)
    : truth_(truth), cluster_(cluster), jobs_(jobs), needed_(needed), options_(options) {
  FL_CHECK(options_.noise >= 0 && options_.noise <= 1, "noise {}", options_.noise);
}

// Profiles are numbered as their first jobs come.
void KnownSpeed::add_job(JobId job) {
  if (needed_ != RatesNeeded::kProfiled) return;
  const std::uint64_t key =
      std::uint64_t{jobs_.user[job].row()} << 32 | std::uint64_t{jobs_.model[job].row()};
  const auto next = static_cast<std::uint32_t>(profiles_.size());
  const auto [profile, is_new] = profiles_.try_emplace(key, next);
  if (is_new) known_at_.resize(known_at_.size() + cluster_.type_names.size(), Time::never());
  profile_.grow_to(job) = profile->second;
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
