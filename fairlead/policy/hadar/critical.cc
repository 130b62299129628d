#include "fairlead/policy/hadar/critical.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/solve/time_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

// Hysteresis: a running job counts as that much more critical, so that a small difference stops
// no job.
constexpr double kAhead = 0.05;
// Jobs keep arriving as long as some came within this fraction of the time in which all present
// work could be done: chosen.
constexpr double kLull = 0.1;

}  // namespace

void HadarCritical::collect(const View& view, const Plan& plan, JobKinds& kinds,
                            std::span<const HadarBidder> bidders) {
  const std::size_t types = view.cluster.type_names.size();
  everything_.gpus.clear();
  for (GpuTypeId type : ids<GpuTypeId>(types)) {
    everything_.gpus.push_back(plan.free().capacity(type));
  }
  everything_.rate.clear();
  everything_.gang.clear();
  everything_.part.clear();
  alone_s_.clear();
  for (const HadarBidder& bidder : bidders) {
    const std::uint32_t gpus = view.jobs.gpus[bidder.job];
    const JobKinds::Speeds& speeds = kinds.speeds(view, plan, bidder.job, bidder.kind, gpus);
    const Tier tier = view.speed.best_tier(gpus);
    double fastest = 0;
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      const bool can_run = (kinds.asked(bidder.kind).types & type_bit(type)) != 0 &&
                           gpus <= everything_.gpus[type.row()];
      const double rate = can_run ? bidder.copies * speeds.rate(type, tier) : 0;
      everything_.rate.push_back(rate);
      fastest = std::max(fastest, rate);
    }
    const bool runs_on_one_type = fastest > 0;
    alone_s_.push_back(runs_on_one_type ? to_seconds(bidder.remaining) / fastest : 0);
    everything_.gang.push_back(gpus * bidder.copies);
    everything_.part.push_back(runs_on_one_type ? to_seconds(bidder.remaining) : 0);
  }
  everything_.count.assign(bidders.size(), 1);
  everything_.floor.assign(bidders.size(), 0);
}

// Returns a lower bound on the time for all work: as if each GPU were of the fastest type for its
// job.
double HadarCritical::least_time_s() const {
  double gpu_s = 0;
  for (std::size_t i = 0; i < alone_s_.size(); ++i) gpu_s += alone_s_[i] * everything_.gang[i];
  const double gpus = std::accumulate(everything_.gpus.begin(), everything_.gpus.end(), 0.0);
  return gpus > 0 ? gpu_s / gpus : 0;
}

void HadarCritical::hear(const View& view) {
  const auto arrives = [](const Event& event) { return event.kind == EventKind::kArrived; };
  if (std::ranges::any_of(view.news, arrives)) arrivals_.hear(view.now);
}

std::span<const HadarCritical::Critical> HadarCritical::find(const View& view, const Plan& plan,
                                                             JobKinds& kinds,
                                                             std::span<HadarBidder> bidders) {
  critical_.clear();
  if (fraction_ >= 1 || bidders.empty()) return critical_;
  collect(view, plan, kinds, bidders);
  const auto jobs_go_on_arriving = [&](double time_s) {
    return arrivals_.go_on(view.now, Duration{std::llround(1000 * kLull * time_s)});
  };
  // This mostly decides without the linear program.
  if (jobs_go_on_arriving(least_time_s())) return critical_;
  const Result<Shares> shares = raise_level(everything_);
  FL_CHECK(shares.has_value(), "{}", shares.error().message);
  if (!(shares->objective > 0) || jobs_go_on_arriving(1 / shares->objective)) return critical_;
  parts_.clear();
  for (std::size_t i = 0; i < bidders.size(); ++i) {
    const double ahead = plan.has_gang(bidders[i].job) ? kAhead : 0;
    parts_.push_back({alone_s_[i] * shares->objective + ahead, &bidders[i]});
  }
  std::ranges::stable_sort(parts_, std::greater<>(), &Part::alone);
  // At most half of the GPUs, so that the other jobs do not pay all of it.
  std::uint32_t left = view.cluster.gpus / 2;
  for (const Part& part : parts_) {
    if (part.alone <= fraction_) break;
    const std::uint32_t gpus = view.jobs.gpus[part.bidder->job];
    if (gpus > left) continue;
    left -= gpus;
    critical_.push_back({part.bidder, 1 + part.alone});
  }
  return critical_;
}

}  // namespace fairlead
