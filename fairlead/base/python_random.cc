#include "fairlead/base/python_random.h"

#include <bit>
#include <utility>

namespace fairlead {

// init_by_array with the seed as the only word of the key.
PythonRandom::PythonRandom(std::uint32_t seed) {
  const auto mixed = [this](std::size_t i) { return state_[i - 1] ^ (state_[i - 1] >> 30); };
  state_[0] = 19650218;
  for (std::uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253 * mixed(i) + i;

  std::size_t i = 1;
  const auto step = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (std::size_t k = 0; k < kWords; ++k, step()) {
    state_[i] = (state_[i] ^ (mixed(i) * 1664525)) + seed;
  }
  for (std::size_t k = 1; k < kWords; ++k, step()) {
    state_[i] = (state_[i] ^ (mixed(i) * 1566083941)) - static_cast<std::uint32_t>(i);
  }
  state_[0] = 0x80000000;
}

void PythonRandom::refill() {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000) | (state_[(i + 1) % kWords] & 0x7fffffff);
    state_[i] = state_[(i + 397) % kWords] ^ (y >> 1) ^ (y % 2 == 0 ? 0 : 0x9908b0df);
  }
  next_ = 0;
}

std::uint32_t PythonRandom::bits() {
  if (next_ == kWords) refill();
  std::uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return y ^ (y >> 18);
}

double PythonRandom::uniform() {
  constexpr double kHighUnit = 67'108'864;  // 2^26
  const double high = bits() >> 5;
  const double low = bits() >> 6;
  return (high * kHighUnit + low) / (kHighUnit * kHighUnit * 2);
}

std::uint32_t PythonRandom::below(std::uint32_t bound) {
  const auto width = std::bit_width(bound);
  std::uint32_t drawn = bits() >> (32 - width);
  while (drawn >= bound) drawn = bits() >> (32 - width);
  return drawn;
}

void PythonRandom::shuffle(std::span<std::uint32_t> values) {
  for (std::uint32_t i = static_cast<std::uint32_t>(values.size()); i > 1; --i) {
    std::swap(values[i - 1], values[below(i)]);
  }
}

}  // namespace fairlead
