// The shuffle of Python's random module, with which the Gavel simulator draws its orders of types.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fairlead {

// random.Random(seed), for seeds of 32 bits: a Mersenne Twister (MT19937).
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);
  // random.shuffle: Fisher-Yates from the end.
  void shuffle(std::span<std::uint32_t> values);
  // The next 32 bits.
  std::uint32_t bits();

 private:
  static constexpr std::size_t kWords = 624;

  std::uint32_t below(std::uint32_t bound);
  void refill();

  std::array<std::uint32_t, kWords> state_;
  std::size_t next_ = kWords;
};

}  // namespace fairlead
