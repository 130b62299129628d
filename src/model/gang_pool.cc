#include "fairlead/model/gang_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace fairlead {
namespace {

constexpr std::size_t kSlicesMax = std::numeric_limits<std::uint32_t>::max();  // of GangRef

std::size_t size_class(std::size_t slices) {
  return static_cast<std::size_t>(std::bit_width(slices - 1));
}

}  // namespace

GangRef GangPool::add(Gang gang) {
  FL_CHECK(!gang.empty());
  FL_DCHECK(std::ranges::all_of(gang, [](Slice slice) { return slice.gpus > 0; }));
  const std::size_t log2 = size_class(gang.size());
  std::uint32_t offset;
  if (free_[log2].empty()) {
    offset = static_cast<std::uint32_t>(slices_.size());
    slices_.resize(slices_.size() + (std::size_t{1} << log2));
    gpu_masks_.resize(slices_.size());
  } else {
    offset = free_[log2].back();
    free_[log2].pop_back();
  }
  FL_CHECK(offset + gang.size() <= slices_.size() && slices_.size() <= kSlicesMax,
           "{} slices at {} of {}", gang.size(), offset, slices_.size());
  std::ranges::copy(gang, slices_.begin() + offset);
  std::fill_n(gpu_masks_.begin() + offset, gang.size(), 0);
  return {offset, static_cast<std::uint32_t>(gang.size())};
}

void GangPool::release(GangRef ref) {
  if (ref.empty()) return;
  FL_CHECK(is_block(ref), "{} slices at {} of {}", ref.slices, ref.offset, slices_.size());
  free_[size_class(ref.slices)].push_back(ref.offset);
}

}  // namespace fairlead
