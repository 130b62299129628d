// Tiling: the part of the dues of one node's jobs that cannot be served there, whatever the
// order of turns.
//
// A job needs `gpus` GPUs for a fraction `time` of the time. Beside the number of GPUs, one limit
// exists (ours): gangs that do not fit beside each other must take turns. A gang of the whole node
// that is due half of the time and a single GPU that is due all of it fit by area, but not in time.
//
// Needs larger than the node count only up to its size. add: O(1). Questions: O(gpus of the node).
#pragma once

#include "fairlead/model/cluster.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace fairlead {

struct Need {
  std::uint32_t gpus = 1;  // at least 1
  double time = 0;         // fraction of the time, 0..1
};

class Tiling {
 public:
  explicit Tiling(std::uint32_t gpus = 0) : gpus_(gpus) {}

  void add(Need need);
  // Returns a lower bound of the part of the time that the node would need to serve all; above 1 it
  // cannot.
  double time_needed() const;
  // Returns the GPUs due but not served: the mean of two estimates. By time: the lack if all needs
  // shrink in proportion. By gang: the dues of gangs that do not fit beside others, each size by
  // itself, so that every job that leaves makes a difference.
  double unserved() const;
  // Returns the same with one need more; the tiling itself does not change.
  double unserved_with(Need need);
  // Returns a lower bound of unserved_with: the dues beyond the node's GPUs, and a little less.
  // O(1).
  double least_unserved_with(Need need) const;
  // Returns a lower bound with one need less; the need must be among those added. O(1).
  double least_unserved_without(Need need) const;

 private:
  // The needs of one size: their number, the sum of their times, and the longest time.
  struct Size {
    int count = 0;
    double time = 0;
    double longest = 0;
  };

  double conflict() const;
  void find_larger(std::array<double, kNodeGpusMax + 1>& larger) const;
  double area_of(Need need) const { return std::min(need.gpus, gpus_) * need.time; }
  double least_unserved(double area) const;

  std::uint32_t gpus_;
  double area_ = 0;
  std::array<Size, kNodeGpusMax + 1> sizes_{};
};

// Returns time_needed() and unserved() of a list of needs.
double time_needed(std::span<const Need> needs, std::uint32_t gpus);
double unserved(std::span<const Need> needs, std::uint32_t gpus);

}  // namespace fairlead
