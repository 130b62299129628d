#include "fairlead/sim/costs.h"

#include <cmath>

namespace fairlead {
namespace {

Duration own_or(const std::optional<double>& own_s, Duration otherwise) {
  return own_s ? Duration{std::llround(*own_s * 1000.0)} : otherwise;
}

}  // namespace

Costs Costs::none() {
  Costs costs;
  costs.start = costs.suspend = costs.resume = costs.copies_exchange = {};
  costs.checkpoint = costs.migrate = {};
  return costs;
}

Rate Costs::rate_of_copy(Rate alone) const {
  FL_CHECK(copies_every > Duration{} && copies_exchange >= Duration{} && copies_efficiency > 0 &&
               copies_efficiency <= 1,
           "copies exchange for {} ms every {} ms, efficiency {}", copies_exchange.ms,
           copies_every.ms, copies_efficiency);
  const auto trains = static_cast<double>(copies_every.ms);
  const double part = trains / (trains + static_cast<double>(copies_exchange.ms));
  return Rate::of(alone.value() * part * copies_efficiency);
}

Duration Costs::overhead(PlaceKind place, std::uint32_t gpus, const ModelProfile* profile) const {
  FL_DCHECK(gpus >= 1);
  static const ModelCosts kNoneOwn;
  const ModelCosts& own = profile != nullptr ? profile->costs : kNoneOwn;
  const std::size_t size = gpus <= 1 ? 0 : gpus <= 8 ? 1 : 2;
  switch (place) {
    case PlaceKind::kStart:
      return own_or(own.start_s, start);
    case PlaceKind::kResume:
      return own_or(own.suspend_s, suspend) + own_or(own.resume_s, resume);
    case PlaceKind::kMigrate:
      return own_or(own.checkpoint_s, checkpoint[size]) + own_or(own.migrate_s, migrate[size]);
  }
  return {};
}

}  // namespace fairlead
