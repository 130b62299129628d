#include "fairlead/run/cost_meters.h"

#include "fairlead/input/gpu_power.h"
#include "fairlead/model/speed.h"

namespace fairlead {
namespace {

// Returns the entry of that GPU type or of its product; null if there is none.
template <class Value>
const Value* entry_of(const std::map<std::string, Value>& entries, const std::string& type) {
  for (const std::string& key : {type_key(type), type_key(product_of_type(type))}) {
    for (const auto& [name, value] : entries) {
      if (type_key(name) == key) return &value;
    }
  }
  return nullptr;
}

IdVector<JobId, double> by_job(const WeightedGpuTime& meter, std::size_t jobs) {
  IdVector<JobId, double> sums;
  for (JobId job : ids<JobId>(jobs)) sums.push_back(meter.of(job));
  return sums;
}

}  // namespace

Result<CostMeters> CostMeters::make(const Cluster& cluster, const Settings& settings) {
  constexpr double kKilo = 1000;
  CostMeters meters;
  IdVector<GpuTypeId, double> busy_kw;
  IdVector<GpuTypeId, double> idle_kw;
  IdVector<GpuTypeId, double> price;
  std::map<std::string, GpuPower> power = settings.power.of_type;
  // An entry of the settings replaces the published one.
  if (settings.power.published) power.merge(builtin_gpu_power());
  for (const std::string& type : cluster.type_names) {
    if (!power.empty()) {
      const GpuPower* watts = entry_of(power, type);
      if (watts == nullptr) {
        return input_error("--set power has no power of this GPU type; add {}:WATTS to it: {}",
                           type, type);
      }
      busy_kw.push_back(watts->busy_w / kKilo);
      if (watts->idle_w) idle_kw.push_back(*watts->idle_w / kKilo);
    }
    if (settings.prices.empty()) continue;
    const double* per_hour = entry_of(settings.prices, type);
    if (per_hour == nullptr)
      return input_error("--set prices has no price of this GPU type: {}", type);
    price.push_back(*per_hour);
  }
  const std::size_t types = cluster.type_names.size();
  if (busy_kw.size() == types) meters.busy_.emplace(std::move(busy_kw));
  if (idle_kw.size() == types) meters.idle_.emplace(std::move(idle_kw));
  if (price.size() == types) meters.price_.emplace(std::move(price));
  return meters;
}

std::vector<RecordSink*> CostMeters::sinks() {
  std::vector<RecordSink*> sinks;
  for (auto* meter : {&busy_, &idle_, &price_}) {
    if (*meter) sinks.push_back(&**meter);
  }
  return sinks;
}

GpuCosts CostMeters::costs(std::size_t jobs) const {
  GpuCosts costs;
  if (busy_) {
    costs.total.energy_jobs_kwh = busy_->of_jobs();
    costs.energy_kwh = by_job(*busy_, jobs);
  }
  if (idle_) costs.total.energy_idle_kwh = idle_->of_usable() - idle_->of_jobs();
  if (price_) {
    costs.total.jobs = price_->of_jobs();
    costs.total.idle = price_->of_usable() - price_->of_jobs();
    costs.price = by_job(*price_, jobs);
  }
  return costs;
}

}  // namespace fairlead
