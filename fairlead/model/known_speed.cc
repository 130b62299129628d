#include "fairlead/model/known_speed.h"

#include "fairlead/base/check.h"
#include "fairlead/base/rng.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/fabric.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/measured_rates.h"
#include "fairlead/model/profile_options.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/type_ratios.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fairlead {
namespace {

std::uint64_t profile_key(UserId user, ModelId model) {
  return std::uint64_t{user.row()} << 32 | std::uint64_t{model.row()};
}

// Chosen: the relative change of a step's length that makes a profile another one.
constexpr double kStepChange = 0.1;

// Overlap is not seen from outside. These are the figures of data/models/horovod.yaml, fitted to published efficiencies
// of such training.
Communication communication_of(const JobProfile& profile) {
  return {.gradients_mb = profile.gradients_kb / 1e3,
          .largest_tensor_mb = profile.largest_tensor_kb / 1e3,
          .overlap = 0.667,
          .exposed = 0.55,
          .gpu_type = {}};
}

}  // namespace

struct KnownSpeed::State {
  State(const Cluster& cluster, const ProfileOptions& how)
      : options(how), measured(how.length, how.age), ratios(cluster, how.factors) {}

  ProfileOptions options;
  std::unordered_map<std::uint64_t, std::uint32_t> profiles;  // by user and model
  std::vector<std::pair<UserId, ModelId>> owners;             // of each profile
  MeasuredRates measured;
  TypeRatios ratios;
  std::vector<JobProfile> seen;  // by profile; there may be fewer
  TypeLinks links{};             // empty: no job profile was seen
  std::uint64_t revision = 0;    // of the two

  const JobProfile* seen_of(std::size_t profile) const {
    return profile < seen.size() && seen[profile].gradients_kb > 0 ? &seen[profile] : nullptr;
  }
};

KnownSpeed::KnownSpeed(const Speed* table, const Cluster& cluster, const Jobs& jobs,
                       RatesNeeded needed, const ProfileOptions& options)
    : table_(table),
      cluster_(cluster),
      jobs_(jobs),
      needed_(needed),
      state_(std::make_unique<State>(cluster, options)) {
  FL_CHECK(options.noise >= 0 && options.noise <= 1, "noise {}", options.noise);
  if (table == nullptr) state_->options.source = SpeedSource::kMeasured;
}

KnownSpeed::~KnownSpeed() = default;

// Speeds are measured under policies that need none as well, because the next policy may need them.
bool KnownSpeed::measures() const { return state_->options.source == SpeedSource::kMeasured; }

std::size_t KnownSpeed::row(JobId job, GpuTypeId type) const {
  return profile_[job] * cluster_.type_names.size() + cluster_.type_product[type].row();
}

const Fabric* KnownSpeed::shared_links() const {
  const bool is_told = table_ != nullptr && table_->shares_links() && !measures();
  return is_told && needed_ == RatesNeeded::kTable ? &table_->fabric() : nullptr;
}

std::optional<Iteration> KnownSpeed::iteration(JobId job, Gang gang) const {
  return table_->iteration(job, gang);
}

std::uint64_t KnownSpeed::revision() const {
  return state_->measured.revision() + state_->revision;
}

void KnownSpeed::set_now(Time now) {
  now_ = now;
  state_->measured.set_now(now);
  hear();
}

void KnownSpeed::add_job(JobId job) {
  if (needed_ != RatesNeeded::kProfiled && !measures()) return;
  profile_.grow_to(job) = profile(jobs_.user[job], jobs_.model[job]);
}

bool KnownSpeed::see_profile(JobId job, const JobProfile& profile) {
  if (!measures()) return false;
  const std::size_t of = profile_[job];
  if (state_->seen.size() <= of) state_->seen.resize(of + 1);
  JobProfile& known = state_->seen[of];
  JobProfile seen = profile;
  const double change_us = std::abs(static_cast<double>(seen.step_us) - known.step_us);
  if (change_us <= kStepChange * known.step_us) seen.step_us = known.step_us;
  if (known == seen) return false;
  known = seen;
  state_->links = type_links(cluster_, Fabric(cluster_));
  ++state_->revision;
  return true;
}

void KnownSpeed::add_node() {
  if (state_->seen.empty()) return;
  state_->links = type_links(cluster_, Fabric(cluster_));
  ++state_->revision;
}

// Numbers profiles in the order of their first jobs, or first speeds that were taken over.
std::uint32_t KnownSpeed::profile(UserId user, ModelId model) {
  const auto next = static_cast<std::uint32_t>(state_->profiles.size());
  const auto [profile, is_new] = state_->profiles.try_emplace(profile_key(user, model), next);
  if (is_new) {
    known_at_.resize(known_at_.size() + cluster_.type_names.size(), Time::never());
    state_->owners.emplace_back(user, model);
  }
  return profile->second;
}

void KnownSpeed::learn(const LearnedSpeed& speed) {
  if (!measures()) return;
  const std::size_t types = cluster_.type_names.size();
  const std::size_t first = profile(speed.user, speed.model) * types;
  state_->measured.learn(first + cluster_.type_product[speed.type].row(), speed.measured);
  hear();
}

std::vector<LearnedSpeed> KnownSpeed::learned() const {
  std::vector<LearnedSpeed> all;
  const std::size_t types = cluster_.type_names.size();
  for (std::size_t profile = 0; profile < state_->owners.size(); ++profile) {
    const auto [user, model] = state_->owners[profile];
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      for (const MeasuredRate& measured : state_->measured.of_row(profile * types + type.row())) {
        const JobProfile* const seen = state_->seen_of(profile);
        const double per_gpu = measured.rate.value() * measured.asked / measured.gpus;
        all.push_back(
            {user, model, type, per_gpu, measured, seen == nullptr ? JobProfile{} : *seen});
      }
    }
  }
  return all;
}

bool KnownSpeed::forget(UserId user, ModelId model) {
  const auto profile = state_->profiles.find(profile_key(user, model));
  if (profile == state_->profiles.end()) return false;
  const std::size_t types = cluster_.type_names.size();
  bool has_any = false;
  for (std::size_t type = 0; type < types; ++type)
    has_any |= state_->measured.forget_row(profile->second * types + type);
  hear();
  return has_any;
}

std::optional<Rate> KnownSpeed::rate(JobId job, GpuTypeId type, std::uint32_t gpus,
                                     Tier tier) const {
  if (needed_ == RatesNeeded::kNone) return std::nullopt;
  if (measures()) {
    const std::optional<Rate> found = measured(job, type, gpus, tier);
    if (!found && needed_ == RatesNeeded::kProfiled) return std::nullopt;
    if (table_ != nullptr && table_->rate(job, type, gpus, tier).fixed == 0) return Rate{};
    return found ? *found : guess(job, type, gpus, tier);
  }
  if (needed_ == RatesNeeded::kTable) return table_->rate(job, type, gpus, tier);
  const std::size_t at = row(job, type);
  if (known_at_[at] > now_) return std::nullopt;
  return with_noise(table_->rate(job, type, gpus, tier), at);
}

std::uint64_t KnownSpeed::alike(JobId job) const {
  const std::uint64_t profile = profile_.has(job) ? profile_[job] : 0;
  return profile << 32 | (table_ != nullptr ? table_->alike(job) : jobs_.gpus[job]);
}

bool KnownSpeed::is_tried(JobId job, GpuTypeId type) const {
  if (needed_ == RatesNeeded::kTable) return true;
  if (measures()) return state_->measured.is_tried(row(job, type));
  return needed_ == RatesNeeded::kProfiled && known_at_[row(job, type)] <= now_;
}

std::optional<Rate> KnownSpeed::measured(JobId job, GpuTypeId type, std::uint32_t gpus,
                                         Tier tier) const {
  const MeasuredGang gang{
      .row = row(job, type), .gpus = gpus, .tier = tier, .asked = jobs_.gpus[job]};
  std::optional<Rate> rate;
  if (const auto speed = predicted(gang, type)) {
    rate = std::max(Rate::of(std::min(*speed, 1e6)), Rate{1});
  } else {
    rate = state_->measured.rate(gang);
  }
  return rate ? std::optional(with_noise(*rate, gang.row)) : std::nullopt;
}

// Returns the speed that follows from the job profile and the nearest measurement. Nullopt: the gang was measured, there
// is no profile or measurement, or the measured gang is faster than its links.
std::optional<double> KnownSpeed::predicted(const MeasuredGang& gang, GpuTypeId type) const {
  const JobProfile* const seen = state_->seen_of(gang.row / cluster_.type_names.size());
  if (seen == nullptr) return std::nullopt;
  const std::optional<MeasuredRate> from = state_->measured.nearest(gang);
  if (!from || (from->gpus == gang.gpus && from->tier == gang.tier)) return std::nullopt;
  const Communication exchanged = communication_of(*seen);
  const Links& links = state_->links[type];
  // If the samples are known, each worker has its own in a step; else the gang divides the work of a step.
  const double shares = seen->samples > 0 ? from->gpus : 1;
  const double there_ms = seen->step_us / 1e3 * shares / (from->rate.value() * from->asked);
  const auto compute_ms = compute_ms_of(exchanged, there_ms, from->gpus, from->tier, links);
  if (!compute_ms) return std::nullopt;
  const double here_ms =
      iteration_of(exchanged, *compute_ms, gang.gpus, gang.tier, links).alone_ms();
  return from->speed(gang.gpus, gang.asked) * there_ms / here_ms;
}

// Passes changed measurements, with their errors, to the ratios between GPU types.
void KnownSpeed::hear() {
  const std::size_t types = cluster_.type_names.size();
  for (std::size_t row : state_->measured.take_changed()) {
    state_->ratios.see(row / types, GpuTypeId(row % types),
                       state_->measured.best_per_gpu(row) * error_of(row));
  }
}

// Returns the rate on a type without measurements: the geometric mean of the estimates from each measured type.
Rate KnownSpeed::guess(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const {
  double log_sum = 0;
  double known = 0;
  for (GpuTypeId other : ids<GpuTypeId>(cluster_.type_names.size())) {
    const std::optional<Rate> there = measured(job, other, gpus, tier);
    if (!there) continue;
    log_sum += std::log(there->value() * state_->ratios.ratio(type, other));
    ++known;
  }
  const double rate = known > 0 ? std::exp(log_sum / known)
                                : state_->ratios.against_mean(type) * gpus / jobs_.gpus[job];
  return Rate::of(std::clamp(rate, 1e-6, 1e6));
}

Rate KnownSpeed::with_noise(Rate rate, std::size_t row) const {
  if (state_->options.noise == 0 || rate.fixed == 0) return rate;
  return std::max(Rate::of(std::min(rate.value() * error_of(row), 1e6)), Rate{1});
}

std::optional<double> KnownSpeed::skew(JobId job) const {
  const JobProfile* const seen = profile_.has(job) ? state_->seen_of(profile_[job]) : nullptr;
  if (seen != nullptr) return static_cast<double>(seen->largest_tensor_kb) / seen->gradients_kb;
  const ModelProfile* const model = table_ == nullptr ? nullptr : table_->profile(job);
  if (model == nullptr || !model->communication) return std::nullopt;
  const Communication& exchanged = *model->communication;
  if (exchanged.largest_tensor_mb == 0) return std::nullopt;
  return exchanged.largest_tensor_mb / exchanged.gradients_mb;
}

double KnownSpeed::error_of(std::size_t row) const {
  Rng rng = Rng(state_->options.seed).split(row);
  return 1 + state_->options.noise * (2 * rng.uniform() - 1);
}

void KnownSpeed::on_run_begin(JobId job, Gang gang, Rate rate) {
  FL_DCHECK(!gang.empty(), "job {}", job.row());
  if (measures()) state_->measured.on_run_begin(job, measurable(job, gang), rate);
}

// Returns the measured row of the gang. Returns nullopt for a gang of several products: its slowest member, which
// determines the rate, is unknown.
std::optional<MeasuredGang> KnownSpeed::measurable(JobId job, Gang gang) const {
  const GpuTypeId type = cluster_.node_type[gang.front().node];
  for (Slice slice : gang) {
    const GpuTypeId other = cluster_.node_type[slice.node];
    if (cluster_.type_product[other] != cluster_.type_product[type]) return std::nullopt;
  }
  return MeasuredGang{.row = row(job, type),
                      .gpus = gpus_of(gang),
                      .tier = cluster_.tier_of(gang),
                      .asked = jobs_.gpus[job]};
}

void KnownSpeed::on_start(JobId job, Gang gang, Duration overhead) {
  FL_DCHECK(!gang.empty() && overhead >= Duration{}, "job {}, {} ms", job.row(), overhead.ms);
  if (measures()) return state_->measured.on_start(job, overhead);
  if (needed_ != RatesNeeded::kProfiled) return;
  for (Slice slice : gang) {
    Time& known = known_at_[row(job, cluster_.node_type[slice.node])];
    known = std::min(known, now_ + overhead + state_->options.length);
  }
}

void KnownSpeed::on_rate(JobId job, Rate rate) {
  if (!measures()) return;
  state_->measured.on_rate(job, rate);
  hear();
}

void KnownSpeed::on_run_end(JobId job) {
  if (measures()) state_->measured.on_run_end(job);
}

}  // namespace fairlead
