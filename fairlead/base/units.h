// Time, GPU time, speed and work as integers, one type per unit.
//
//   Time      an instant, milliseconds since the trace's time 0
//   Duration  a difference of instants, milliseconds
//   GpuTime   GPUs times duration, GPU-milliseconds, 128 bits
//   Rate      speed relative to the job's reference gang; 1.0 is 2^32
//   Work      rate times duration: reference-milliseconds scaled by 2^32, 128 bits
//
// Invariants:
//  1. progress(rate, d1 + d2) == progress(rate, d1) + progress(rate, d2): settling a job at extra
//     moments changes nothing, because the product is exact.
//  2. time_to_finish rounds up and is at least 1 ms, so a finish is strictly after its start.
//
// Range: 2^32 steps per unit of speed keep 1e-6 relative precision down to speed 0.0003 (a 128-GPU
// job shrunk to one GPU over a slow network), and 128 bits suffice for 10^9 years at 1000 times the
// reference speed.
//
// Units never mix by operator: conversions are named functions.
#pragma once

#include "fairlead/base/check.h"

#include <compare>
#include <cstdint>
#include <limits>

namespace fairlead {

__extension__ using Int128 = __int128;

struct Duration {
  std::int64_t ms = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ms + b.ms}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ms - b.ms}; }
  constexpr Duration& operator+=(Duration b) { return ms += b.ms, *this; }
};

struct Time {
  std::int64_t ms = 0;

  static constexpr Time never() { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ms + d.ms}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ms - d.ms}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ms - b.ms}; }
};

struct GpuTime {
  Int128 gpu_ms = 0;

  friend constexpr auto operator<=>(GpuTime, GpuTime) = default;
  friend constexpr GpuTime operator+(GpuTime a, GpuTime b) { return {a.gpu_ms + b.gpu_ms}; }
  friend constexpr GpuTime operator-(GpuTime a, GpuTime b) { return {a.gpu_ms - b.gpu_ms}; }
  constexpr GpuTime& operator+=(GpuTime b) { return gpu_ms += b.gpu_ms, *this; }
};

struct Rate {
  static constexpr std::int64_t kOne = std::int64_t{1} << 32;
  std::int64_t fixed = 0;

  static constexpr Rate one() { return {kOne}; }
  // Rounds to the nearest step. REQUIRES: 0 <= speed <= 1e6.
  static Rate of(double speed);
  constexpr double value() const { return static_cast<double>(fixed) / static_cast<double>(kOne); }

  friend constexpr auto operator<=>(Rate, Rate) = default;
};

struct Work {
  Int128 fixed = 0;

  friend constexpr auto operator<=>(Work, Work) = default;
  friend constexpr Work operator+(Work a, Work b) { return {a.fixed + b.fixed}; }
  friend constexpr Work operator-(Work a, Work b) { return {a.fixed - b.fixed}; }
  constexpr Work& operator+=(Work b) { return fixed += b.fixed, *this; }
};

// The longest duration and the latest instant that input may name: 100 years.
constexpr std::int64_t kMsMax = std::int64_t{100} * 366 * 86400 * 1000;

constexpr Duration milliseconds(std::int64_t n) { return {n}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration hours(std::int64_t n) { return {n * 3'600'000}; }

constexpr double to_seconds(Duration d) { return static_cast<double>(d.ms) / 1000.0; }
constexpr double to_seconds(Time t) { return static_cast<double>(t.ms) / 1000.0; }
constexpr double to_gpu_hours(GpuTime t) { return static_cast<double>(t.gpu_ms) / 3'600'000.0; }

// REQUIRES: gpus >= 0.
constexpr GpuTime occupancy(Duration d, std::int64_t gpus) {
  FL_DCHECK(gpus >= 0, "{} GPUs", gpus);
  return {Int128{d.ms} * gpus};
}

// Returns a 64-bit number for sort keys. It saturates after a million GPUs for 290 years.
constexpr std::int64_t saturated_gpu_ms(GpuTime t) {
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(t.gpu_ms < kMax ? t.gpu_ms : kMax);
}

constexpr Work progress(Rate rate, Duration d) { return {Int128{rate.fixed} * d.ms}; }

// The work that takes `d` at speed 1.
constexpr Work reference_work(Duration d) { return progress(Rate::one(), d); }

// Returns how long `work` takes at speed 1, rounded up.
constexpr Duration reference_duration(Work work) {
  return {static_cast<std::int64_t>((work.fixed + Rate::kOne - 1) / Rate::kOne)};
}

// Returns the first whole millisecond at which `work` is done at `rate`; at least 1 ms. REQUIRES: rate > 0.
inline Duration time_to_finish(Work work, Rate rate) {
  FL_CHECK(rate.fixed > 0, "rate {}", rate.fixed);
  if (work.fixed <= rate.fixed) return {1};
  const Int128 ms = (work.fixed + rate.fixed - 1) / rate.fixed;
  // 10^17 ms leaves room to add any instant; nothing that slow ever ends.
  constexpr std::int64_t kLongest = 100'000'000'000'000'000;
  FL_DCHECK(ms >= 1 && ms * rate.fixed >= work.fixed && (ms - 1) * rate.fixed < work.fixed);
  return {ms > kLongest ? kLongest : static_cast<std::int64_t>(ms)};
}

}  // namespace fairlead
