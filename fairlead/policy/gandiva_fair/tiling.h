// Tiling: how much of what the jobs of one node are due cannot be served there, whatever the
// order in which they take turns.
//
// A job needs `gpus` GPUs for a fraction `time` of the time. Beside the number of GPUs, two things
// stand in its way. Gangs that do not fit beside each other must take turns: a gang of the whole
// node that is due half of the time and a single GPU that is due all of it fit by area, and yet
// one of them must do without. And what a small gang leaves of the room of a large one is used only
// by gangs as small: a lone single GPU among pairs idles one more whenever it runs. (ours)
//
// Needs larger than the node count as far as they fit. add: O(1). Questions: O(gpus of the
// node).
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
  // How much of the time the node would need to serve all: above 1 says that it cannot. For gangs
  // that are powers of two on such a node an estimate, mostly exact; for others a lower bound.
  double time_needed() const;
  // GPUs due but not served: the mean of two estimates. By time: what is missing if all give way in
  // proportion. By gang: what is due to gangs that do not fit beside others, each size by itself,
  // so that every job that leaves makes a difference.
  double unserved() const;
  // The same with one need more; the tiling is as before afterwards.
  double unserved_with(Need need);
  // What unserved_with is not below: what is due beyond what there is, and a little less. O(1).
  double least_unserved_with(Need need) const;
  // Likewise with one need less, which is among those added. O(1).
  double least_unserved_without(Need need) const;

 private:
  // The needs of one size: how many, their times in sum, and the longest of them.
  struct Size {
    int count = 0;
    double time = 0;
    double longest = 0;
  };

  double time_by_lanes() const;
  double time_at_least() const;
  double conflict() const;
  void find_larger(std::array<double, kNodeGpusMax + 1>& larger) const;
  double area_of(Need need) const { return std::min(need.gpus, gpus_) * need.time; }
  double least_unserved(double area) const;

  std::uint32_t gpus_;
  bool nests_ = true;  // every size is a power of two
  double area_ = 0;
  std::array<Size, kNodeGpusMax + 1> sizes_{};
};

// time_needed() and unserved() of a list of needs.
double time_needed(std::span<const Need> needs, std::uint32_t gpus);
double unserved(std::span<const Need> needs, std::uint32_t gpus);

}  // namespace fairlead
