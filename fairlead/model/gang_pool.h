// Storage for gangs: slices in one pool, with free lists by power-of-two size.
//
// The pool also stores a mask of the granted GPUs for each slice (bit i: GPU i of that node). Policies count GPUs; the
// engine fills in the masks. add and release are O(slices) and do not allocate after the pool has reached its largest
// size.
#pragma once

#include "fairlead/model/cluster.h"

#include <array>
#include <cstdint>
#include <vector>

namespace fairlead {

struct GangRef {
  std::uint32_t offset = 0;
  std::uint32_t slices = 0;  // 0: no gang
  bool empty() const { return slices == 0; }
};

class GangPool {
 public:
  // Copies the slices into the pool. REQUIRES: gang is not empty, and not in this pool.
  GangRef add(Gang gang);
  // Adds copy number `copy` of the job to the gangs of `ref`, and returns the new ref. `ref` is invalid afterwards.
  // REQUIRES: one mask for each slice; neither span is in this pool.
  GangRef append(GangRef ref, Gang gang, std::span<const std::uint64_t> gpu_masks,
                 std::uint32_t copy);
  // Frees the storage; an empty ref is ignored. REQUIRES: not released before.
  void release(GangRef ref);

  // Both spans are valid until the next add.
  // REQUIRES: `ref` came from add and was not released.
  Gang gang(GangRef ref) const {
    FL_DCHECK(is_block(ref));
    return {slices_.data() + ref.offset, ref.slices};
  }
  std::span<std::uint64_t> gpu_masks(GangRef ref) {
    FL_DCHECK(is_block(ref));
    return {gpu_masks_.data() + ref.offset, ref.slices};
  }
  std::span<const std::uint64_t> gpu_masks(GangRef ref) const {
    FL_DCHECK(is_block(ref));
    return {gpu_masks_.data() + ref.offset, ref.slices};
  }

 private:
  std::uint32_t allocate(std::size_t slices);
  bool is_block(GangRef ref) const {
    return std::size_t{ref.offset} + ref.slices <= slices_.size();
  }

  std::vector<Slice> slices_;
  std::vector<std::uint64_t> gpu_masks_;
  std::array<std::vector<std::uint32_t>, 32> free_;  // offsets of released blocks of 2^i slices
};

}  // namespace fairlead
