#include "fairlead/base/rng.h"

#include "fairlead/base/check.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace fairlead {
namespace {

std::uint64_t splitmix64(std::uint64_t& x) {
  x += 0x9e3779b97f4a7c15;
  std::uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Rng Rng::split(std::uint64_t stream) const {
  std::uint64_t mix = state_[0] ^ std::rotl(state_[3], 23);
  const std::uint64_t salt = splitmix64(mix);
  return Rng(salt ^ splitmix64(stream));
}

std::uint64_t Rng::below(std::uint64_t bound) {
  FL_CHECK(bound > 0);
  const std::uint64_t reject_below = (0 - bound) % bound;
  std::uint64_t x = next();
  while (x < reject_below) x = next();
  return x % bound;
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::exponential(double mean) {
  FL_CHECK(mean > 0, "mean {}", mean);
  return -mean * std::log1p(-uniform());
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::size_t Rng::weighted(std::span<const double> weights) {
  double total = 0;
  for (double weight : weights) {
    FL_DCHECK(weight >= 0, "weight {}", weight);
    total += weight;
  }
  FL_CHECK(total > 0 && std::isfinite(total), "weights of {} in all", total);
  double point = uniform() * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    if (point < weights[i]) return i;
    point -= weights[i];
  }
  return last;
}

}  // namespace fairlead
