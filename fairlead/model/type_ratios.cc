#include "fairlead/model/type_ratios.h"

#include <cmath>

namespace fairlead {
namespace {

constexpr double kUnits = 1e12;  // 64 bits are enough for 300,000 models with gains of up to e^30

std::int64_t log_units(double value) { return std::llround(kUnits * std::log(value)); }

}  // namespace

TypeRatios::TypeRatios(const Cluster& cluster, const GpuFactors& factors)
    : cluster_(cluster), types_(cluster.type_names.size()), gains_(types_ * types_) {
  for (GpuTypeId of : ids<GpuTypeId>(types_)) {
    for (GpuTypeId on : ids<GpuTypeId>(types_)) {
      const GpuFactor* const here = factors.find(cluster.type_names[of]);
      const GpuFactor* const there = factors.find(cluster.type_names[on]);
      if (here == nullptr || there == nullptr) continue;
      gains_[pair(of.row(), on.row())] = {.log_units = log_units(here->factor / there->factor),
                                          .models = 1};
    }
  }
}

void TypeRatios::see(std::size_t profile, GpuTypeId type, double per_gpu) {
  const std::size_t product = cluster_.type_product[type].row();
  if ((profile + 1) * types_ > logs_.size()) logs_.resize((profile + 1) * types_, kUnknown);
  count(profile, product, -1);
  logs_[profile * types_ + product] = per_gpu > 0 ? log_units(per_gpu) : kUnknown;
  count(profile, product, 1);
}

// Adds the profile's gains between that product and all others, `times` times.
void TypeRatios::count(std::size_t profile, std::size_t product, int times) {
  const std::int64_t here = logs_[profile * types_ + product];
  for (std::size_t other = 0; other < types_; ++other) {
    const std::int64_t there = logs_[profile * types_ + other];
    if (other == product || here == kUnknown || there == kUnknown) continue;
    const std::int64_t log = here - there;
    Gains& to = gains_[pair(product, other)];
    Gains& from = gains_[pair(other, product)];
    to.log_units += times * log;
    from.log_units -= times * log;
    to.models += times;
    from.models += times;
  }
}

double TypeRatios::ratio(GpuTypeId of, GpuTypeId on) const {
  const Gains& gains =
      gains_[pair(cluster_.type_product[of].row(), cluster_.type_product[on].row())];
  if (gains.models == 0) return 1;
  const double mean = static_cast<double>(gains.log_units) / static_cast<double>(gains.models);
  return std::exp(mean / kUnits);
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
