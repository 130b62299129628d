#include "fairlead/model/type_ratios.h"

#include <cmath>
#include <limits>

namespace fairlead {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TypeRatios::TypeRatios(const Cluster& cluster, const GpuFactors& factors)
    : cluster_(cluster), types_(cluster.type_names.size()), gains_(types_ * types_) {
  for (GpuTypeId of : ids<GpuTypeId>(types_)) {
    for (GpuTypeId on : ids<GpuTypeId>(types_)) {
      const GpuFactor* const here = factors.find(cluster.type_names[of]);
      const GpuFactor* const there = factors.find(cluster.type_names[on]);
      if (here == nullptr || there == nullptr) continue;
      gains_[pair(of.row(), on.row())] = {.log_sum = std::log(here->factor / there->factor),
                                          .models = 1};
    }
  }
}

void TypeRatios::see(std::size_t profile, GpuTypeId type, double per_gpu) {
  const std::size_t product = cluster_.type_product[type].row();
  if ((profile + 1) * types_ > logs_.size()) logs_.resize((profile + 1) * types_, kUnknown);
  count(profile, product, -1);
  logs_[profile * types_ + product] = per_gpu > 0 ? std::log(per_gpu) : kUnknown;
  count(profile, product, 1);
}

// Adds the profile's gains between that product and all others, `times` times.
void TypeRatios::count(std::size_t profile, std::size_t product, double times) {
  for (std::size_t other = 0; other < types_; ++other) {
    const double log = logs_[profile * types_ + product] - logs_[profile * types_ + other];
    if (other == product || std::isnan(log)) continue;
    Gains& to = gains_[pair(product, other)];
    Gains& from = gains_[pair(other, product)];
    to.log_sum += times * log;
    from.log_sum -= times * log;
    to.models += times;
    from.models += times;
  }
}

double TypeRatios::ratio(GpuTypeId of, GpuTypeId on) const {
  const Gains& gains =
      gains_[pair(cluster_.type_product[of].row(), cluster_.type_product[on].row())];
  return gains.models > 0 ? std::exp(gains.log_sum / gains.models) : 1;
}

double TypeRatios::against_mean(GpuTypeId of) const {
  double log_sum = 0;
  double gpus = 0;
  for (GpuTypeId on : ids<GpuTypeId>(types_)) {
    log_sum += cluster_.type_gpus[on] * std::log(ratio(of, on));
    gpus += cluster_.type_gpus[on];
  }
  return std::exp(log_sum / gpus);
}

}  // namespace fairlead
