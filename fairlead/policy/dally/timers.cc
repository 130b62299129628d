#include "fairlead/policy/dally/timers.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead {

std::size_t DallyTimers::size_class(std::uint32_t gpus) {
  FL_CHECK(gpus > 0);
  return static_cast<std::size_t>(std::bit_width(gpus - 1));
}

DallyTimers::Timers DallyTimers::of(std::size_t size_class, Time now) {
  using Mode = DallyTimerOptions::Mode;
  switch (options_.mode) {
    case Mode::kNoWait:
      return {Duration{}, Duration{}};
    case Mode::kFullyConsolidated:
      return {kForever, kForever};
    case Mode::kManual:
      return {options_.node, std::max(options_.node, options_.rack)};
    case Mode::kAuto:
      break;
  }
  auto& [nodes, racks] = windows_[size_class];
  const Duration node = tuned(nodes, now, options_.node);
  return {node, std::max(node, tuned(racks, now, options_.rack))};
}

Duration DallyTimers::tuned(Window& window, Time now, Duration fallback) const {
  if (now <= window.until) return window.timer;
  std::vector<std::int64_t> waits_ms;
  Int128 sum = 0;
  window.until = Time::never();
  for (const Sample& sample : window.samples) {
    if (now - sample.at > options_.age) continue;
    window.until = std::min(window.until, sample.at + options_.age);
    waits_ms.push_back(sample.waited.ms);
    sum += sample.waited.ms;
  }
  Duration timer = fallback;
  if (!waits_ms.empty()) {
    timer.ms = static_cast<std::int64_t>(sum / static_cast<std::int64_t>(waits_ms.size()));
    if (options_.quantile > 0) {
      const double rank = std::ceil(options_.quantile * static_cast<double>(waits_ms.size())) - 1;
      const auto at = waits_ms.begin() + std::max(static_cast<std::ptrdiff_t>(rank), {});
      std::ranges::nth_element(waits_ms, at);
      timer.ms = *at;
    }
  }
  window.timer = std::clamp(timer, options_.least, options_.most);
  return window.timer;
}

void DallyTimers::accepted(std::size_t size_class, DallyTier tier, Time now, Duration waited) {
  if (options_.mode != DallyTimerOptions::Mode::kAuto || tier == DallyTier::kNetwork) return;
  Window& window = windows_[size_class][tier == DallyTier::kNode ? 0 : 1];
  std::vector<Sample>& samples = window.samples;
  FL_CHECK(samples.empty() || samples.back().at <= now);
  if (samples.size() >= options_.samples) samples.erase(samples.begin());
  samples.push_back({now, waited});
  window.until = {-1};
}

void DallyTimers::fields(Archive& archive) { archive(windows_); }

}  // namespace fairlead
