// HadarTried: the gangs that some draft of Hadar's search could have for the present bid (dual.h).
//
// add: O(slices of the gang). All else O(1). No allocation once warm.
#pragma once

#include "fairlead/policy/hadar/gangs.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class HadarTried {
 public:
  struct Tried {
    HadarGang gang;         // its slices are here
    std::uint64_t key = 0;  // of its GPUs
    std::uint32_t gpus = 0;
    GpuTypeId type = GpuTypeId::none();  // none: its GPUs are of several
    std::uint32_t chosen = 0;  // row of its slices in HadarChoices; 0: they are not there yet
  };

  // Starts with the next bid.
  void clear() {
    tried_.clear();
    slices_.clear();
  }
  // Returns the row of the gang with these slices and that key.
  std::uint32_t add(const Cluster& cluster, const HadarGang& gang, Gang slices, std::uint64_t key) {
    Tried& tried = tried_.emplace_back();
    tried.gang = gang;
    tried.gang.first = static_cast<std::uint32_t>(slices_.size());
    tried.key = key;
    tried.type = cluster.node_type[slices.front().node];
    for (Slice slice : slices) {
      slices_.push_back(slice);
      tried.gpus += slice.gpus;
      if (cluster.node_type[slice.node] != tried.type) tried.type = GpuTypeId::none();
    }
    return static_cast<std::uint32_t>(tried_.size() - 1);
  }

  Tried& operator[](std::uint32_t row) { return tried_[row]; }
  Gang slices(const Tried& tried) const {
    return {slices_.data() + tried.gang.first, tried.gang.slices};
  }

 private:
  std::vector<Tried> tried_;
  std::vector<Slice> slices_;
};

}  // namespace fairlead
