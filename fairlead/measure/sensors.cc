#include "fairlead/measure/sensors.h"

#include "fairlead/measure/profile_line.h"

namespace fairlead {

std::string_view sensor_name(Sensor sensor) {
  constexpr std::array<std::string_view, kSensors.size()> kNames = {"reports", "hook", "output"};
  return kNames[static_cast<std::size_t>(sensor)];
}

std::string_view sensor_text(Sensor sensor) {
  constexpr std::array<std::string_view, kSensors.size()> kTexts = {
      "its progress reports", "its optimizer steps", "its output"};
  return kTexts[static_cast<std::size_t>(sensor)];
}

void Sensors::run(Time now) {
  reports_.run(now);
  hook_.run(now);
  output_.run(now);
}

void Sensors::pause(Time now) {
  reports_.pause(now);
  hook_.pause(now);
  output_.pause(now);
}

void Sensors::look(Time now, const TaskReports& reports) {
  if (const auto progress = parse_progress(reports.progress)) reports_.told(now, *progress);
  if (const auto steps = parse_progress(reports.steps)) hook_.told(now, *steps);
  if (const auto profile = parse_profile(reports.steps))
    samples_ = static_cast<double>(profile->workers) * profile->samples;
  output_.read(now, reports.output_begin, reports.output);
}

void Sensors::add_load(int busy_percent, int power_w) {
  driver_load_.busy_percent.add(busy_percent);
  driver_load_.power_w.add(power_w);
}

std::optional<double> Sensors::rate(Sensor sensor) const {
  const std::optional<double> rate = sensor == Sensor::kReports ? reports_.rate()
                                     : sensor == Sensor::kHook  ? hook_.rate()
                                                                : output_.rate();
  return rate && *rate > 0 ? rate : std::nullopt;
}

std::optional<Progress> Sensors::last(Sensor sensor) const {
  if (sensor == Sensor::kOutput) return output_.last();
  return sensor == Sensor::kReports ? reports_.last() : hook_.last();
}

std::optional<Sensors::Speed> Sensors::speed() const {
  for (const Sensor sensor : kSensors) {
    if (auto by = speed(sensor)) return by;
  }
  return std::nullopt;
}

std::optional<Sensors::Speed> Sensors::speed(Sensor sensor) const {
  const auto per_s = rate(sensor);
  if (!per_s) return std::nullopt;
  if (sensor == Sensor::kHook && samples_ > 0) return Speed{sensor, *per_s * samples_, kSamples};
  std::string unit = last(sensor)->unit;
  if (unit.empty()) unit = "units";
  return Speed{sensor, *per_s, std::move(unit)};
}

std::optional<Sensors::Done> Sensors::done() const {
  std::optional<Done> best;
  for (const Sensor sensor : kSensors) {
    const auto progress = last(sensor);
    if (!progress) continue;
    Done done{*progress, rate(sensor).value_or(0)};
    if (sensor == Sensor::kReports || progress->total > 0) return done;
    if (!best) best = done;
  }
  return best;
}

std::optional<Progress> Sensors::of_job() const {
  if (rate(Sensor::kReports)) return reports_.last();
  if (rate(Sensor::kOutput) && output_.last()->total > 0) return output_.last();
  return std::nullopt;
}

}  // namespace fairlead
