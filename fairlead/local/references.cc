#include "fairlead/local/references.h"

#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

const std::string kFile = "references.json";

}  // namespace

References::References(Io& io) : io_(io) {
  const auto text = io_.read(kFile);
  const auto json = nlohmann::json::parse(text ? *text : "{}", nullptr, false);
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number() && value.get<double>() > 0) all_[key] = value.get<double>();
  }
}

// Reports have the key that they had before there were other sensors.
std::string References::key(const std::string& model, const Sensors::Speed& speed) {
  if (speed.sensor == Sensor::kReports) return model;
  const bool is_in_samples = speed.sensor == Sensor::kHook && speed.unit == kSamples;
  return fmt::format("{} ({})", model, is_in_samples ? kSamples : sensor_name(speed.sensor));
}

double References::relative(const std::string& model, const Sensors& sensors, double gpus) {
  const Sensors::Speed speed = sensors.speed().value();
  const double per_gpu = speed.unit_per_s / gpus;
  const auto [found, is_new] = all_.try_emplace(key(model, speed), per_gpu);
  if (!is_new) return per_gpu / found->second;
  double relative = 1;
  for (const Sensor other : kSensors) {
    const auto by_other = other == speed.sensor ? std::nullopt : sensors.speed(other);
    if (!by_other) continue;
    const auto reference = all_.find(key(model, *by_other));
    if (reference == all_.end()) continue;
    relative = by_other->unit_per_s / gpus / reference->second;
    break;
  }
  found->second = per_gpu / relative;
  // If it cannot be kept, a daemon that starts again measures it again.
  (void)io_.write(kFile, nlohmann::json(all_).dump());
  return relative;
}

}  // namespace fairlead
