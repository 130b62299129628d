// The random numbers of Python's module `random`, for workloads and orders that were published as a
// seed of a Python program. Everything else draws from base/rng.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead {

// random.Random(seed), for seeds of 32 bits: a Mersenne Twister (MT19937).
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);

  // The next 32 bits.
  std::uint32_t bits();
  // random.random: uniform in [0, 1) with 53 bits.
  double uniform();
  // The index that random.choice draws from `bound` items. REQUIRES: bound > 0.
  std::uint32_t below(std::uint32_t bound);
  // random.shuffle: Fisher-Yates from the end.
  void shuffle(std::span<std::uint32_t> values);

 private:
  static constexpr std::size_t kWords = 624;

  void refill();

  std::array<std::uint32_t, kWords> state_;
  std::size_t next_ = kWords;
};

}  // namespace fairlead
