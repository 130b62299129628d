#include "fairlead/policy/dally/timers.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <bit>

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
  Int128 sum_ms = 0;
  std::int64_t count = 0;
  window.until = Time::never();
  for (const Sample& sample : window.samples) {
    if (now - sample.at > kAge) continue;
    window.until = std::min(window.until, sample.at + kAge);
    sum_ms += sample.waited.ms;
    ++count;
  }
  const Duration timer =
      count == 0 ? fallback : Duration{static_cast<std::int64_t>(sum_ms / count)};
  window.timer = std::clamp(timer, options_.least, kMost);
  return window.timer;
}

void DallyTimers::accepted(std::size_t size_class, DallyTier tier, Time now, Duration waited) {
  if (options_.mode != DallyTimerOptions::Mode::kAuto || tier == DallyTier::kNetwork) return;
  Window& window = windows_[size_class][tier == DallyTier::kNode ? 0 : 1];
  std::vector<Sample>& samples = window.samples;
  FL_CHECK(samples.empty() || samples.back().at <= now);
  if (samples.size() >= kSamplesMax) samples.erase(samples.begin());
  samples.push_back({now, waited});
  window.until = {-1};
}

void DallyTimers::fields(Archive& archive) { archive(windows_); }

}  // namespace fairlead
