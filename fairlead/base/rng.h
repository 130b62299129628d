// A seeded random number generator with the same sequence on every compiler and machine (for the exponential and normal
// draws, if the C library rounds log1p and cos in the same way).
//
// xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64. The standard library's
// distributions differ between implementations, so the few that are needed are here. `split` makes
// an independent stream for one purpose, so that drawing more in one place changes nothing
// elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fairlead {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t next();
  // Returns a new generator for the purpose `stream`; does not advance this one.
  Rng split(std::uint64_t stream) const;

  // Uniform in 0..bound-1, without bias. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1) with 53 bits.
  double uniform();
  // Exponential with the given mean. REQUIRES: mean > 0.
  double exponential(double mean);
  // Normal with mean 0 and standard deviation 1 (two uniforms per call).
  double normal();
  // An index drawn with probability proportional to its weight.
  // REQUIRES: weights are not negative and their sum is positive.
  std::size_t weighted(std::span<const double> weights);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace fairlead
