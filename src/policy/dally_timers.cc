#include "policy/dally_timers.h"

#include "base/check.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead {

std::size_t DallyTimers::size_class(std::uint32_t gpus) {
  FL_CHECK(gpus > 0);
  return static_cast<std::size_t>(std::bit_width(gpus - 1));
}

DallyTimers::Timers DallyTimers::of(std::size_t size_class, Time now) const {
  using Mode = DallyTimerOptions::Mode;
  switch (options_.mode) {
    case Mode::kNoWait:
      return {Duration{}, Duration{}};
    case Mode::kFullyConsolidated:
      return {kForever, kForever};
    case Mode::kManual:
      return {options_.machine, std::max(options_.machine, options_.rack)};
    case Mode::kAuto:
      break;
  }
  const auto& [machines, racks] = windows_[size_class];
  const Duration machine = tuned(machines, now, options_.machine);
  return {machine, std::max(machine, tuned(racks, now, options_.rack))};
}

Duration DallyTimers::tuned(const Window& window, Time now, Duration fallback) const {
  std::vector<std::int64_t> waits_ms;
  Int128 sum = 0;
  for (const Sample& sample : window) {
    if (now - sample.at > options_.age) continue;
    waits_ms.push_back(sample.waited.ms);
    sum += sample.waited.ms;
  }
  if (waits_ms.empty()) return std::clamp(fallback, options_.least, options_.most);
  const auto count = static_cast<double>(waits_ms.size());
  Duration timer{static_cast<std::int64_t>(sum / static_cast<std::int64_t>(waits_ms.size()))};
  if (options_.quantile > 0) {
    const auto rank = static_cast<std::int64_t>(std::ceil(options_.quantile * count)) - 1;
    const auto at = waits_ms.begin() + std::max(rank, std::int64_t{0});
    std::ranges::nth_element(waits_ms, at);
    timer.ms = *at;
  }
  return std::clamp(timer, options_.least, options_.most);
}

void DallyTimers::accepted(std::size_t size_class, DallyTier tier, Time now, Duration waited) {
  if (options_.mode != DallyTimerOptions::Mode::kAuto || tier == DallyTier::kNetwork) return;
  Window& window = windows_[size_class][tier == DallyTier::kMachine ? 0 : 1];
  FL_CHECK(window.empty() || window.back().at <= now);
  if (window.size() >= options_.samples) window.erase(window.begin());
  window.push_back({now, waited});
}

void DallyTimers::save(Writer& writer) const {
  for (const auto& tiers : windows_) {
    for (const Window& window : tiers) {
      writer.u64(window.size());
      for (const Sample& sample : window) {
        writer.time(sample.at);
        writer.i64(sample.waited.ms);
      }
    }
  }
}

void DallyTimers::load(Reader& reader) {
  for (auto& tiers : windows_) {
    for (Window& window : tiers) {
      window.clear();
      for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
        const Time at = reader.time();
        window.push_back({at, {reader.i64()}});
      }
    }
  }
}

}  // namespace fairlead
