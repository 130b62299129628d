#include "fairlead/policy/gandiva_fair/trades.h"

#include "fairlead/model/known_speed.h"

#include <algorithm>
#include <functional>

namespace fairlead {

void Trades::trade_if_due(const View& view, Plan& plan) {
  if (homes_.nodes().types() < 2 || view.now < next_) return;
  find_speeds(view);
  if (std::ranges::all_of(speeds_, [](double speed) { return speed <= 0; })) return;
  order_types();
  accounts_.set_type_order(types_);
  if (options_.trade) accounts_.set_speeds(speeds_);
  accounts_.update(view.now);
  if (options_.trade) note_trades(accounts_.trade(speeds_), plan);
  next_ = view.now + options_.interval;
}

void Trades::order_types() {
  const std::size_t types = homes_.nodes().types();
  scores_.assign(types, 0);
  for (UserId user : accounts_.due().demand().active()) {
    const auto* own = speeds_.data() + user.row() * types;
    const double fastest = *std::max_element(own, own + types);
    for (std::size_t type = 0; type < types && fastest > 0; ++type) {
      scores_[type] += own[type] / fastest;
    }
  }
  types_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(types)) types_.push_back(type);
  std::ranges::stable_sort(types_, std::greater(),
                           [&](GpuTypeId type) { return scores_[type.row()]; });
}

void Trades::note_trades(std::span<const Trade> trades, Plan& plan) const {
  const auto active = accounts_.due().demand().active();
  for (const Trade& trade : trades) {
    const UserId seller = active[trade.seller];
    const UserId buyer = active[trade.buyer];
    const GpuTypeId fast(trade.fast);
    plan.note(note::Trade{seller, buyer, fast, note::Thousandths::of(trade.fast_gpus)});
    plan.note(note::Price{seller, buyer, fast, note::Millionths::of(trade.price)});
  }
}

void Trades::find_speeds(const View& view) {
  const std::size_t types = homes_.nodes().types();
  speeds_.assign(view.users.size() * types, 0);
  for (UserId user : accounts_.due().demand().active()) {
    double* const own = speeds_.data() + user.row() * types;
    double gpus = 0;
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      JobId job = homes_.first_kept(user, type);
      for (; !job.is_none(); job = homes_.next_kept(job)) gpus += add_speeds(view, job, own);
    }
    for (std::size_t type = 0; type < types && gpus > 0; ++type) own[type] /= gpus;
  }
}

// Adds the job's speed on each type times its GPUs, and returns its GPUs; 0 if a speed is unknown.
double Trades::add_speeds(const View& view, JobId job, double* speeds) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const Tier tier = view.cluster.best_tier(gpus);
  scores_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    const auto rate = view.speed.rate(job, type, gpus, tier);
    if (!rate) return 0;
    scores_.push_back(rate->value());
  }
  for (std::size_t type = 0; type < scores_.size(); ++type) speeds[type] += scores_[type] * gpus;
  return gpus;
}

}  // namespace fairlead
