#include "fairlead/model/gang_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace fairlead {
namespace {

constexpr std::size_t kSlicesMax = std::numeric_limits<std::uint32_t>::max();  // GangRef's limit

std::size_t size_class(std::size_t slices) {
  return static_cast<std::size_t>(std::bit_width(slices - 1));
}

}  // namespace

// The offset of a block that has room for that many.
std::uint32_t GangPool::allocate(std::size_t slices) {
  const std::size_t log2 = size_class(slices);
  std::uint32_t offset;
  if (free_[log2].empty()) {
    offset = static_cast<std::uint32_t>(slices_.size());
    slices_.resize(slices_.size() + (std::size_t{1} << log2));
    gpu_masks_.resize(slices_.size());
  } else {
    offset = free_[log2].back();
    free_[log2].pop_back();
  }
  FL_CHECK(offset + slices <= slices_.size() && slices_.size() <= kSlicesMax,
           "{} slices at {} of {}", slices, offset, slices_.size());
  return offset;
}

GangRef GangPool::add(Gang gang) {
  FL_CHECK(!gang.empty());
  FL_DCHECK(std::ranges::all_of(gang, [](Slice slice) { return slice.gpus > 0; }));
  const std::uint32_t offset = allocate(gang.size());
  std::ranges::copy(gang, slices_.begin() + offset);
  std::fill_n(gpu_masks_.begin() + offset, gang.size(), 0);
  return {offset, static_cast<std::uint32_t>(gang.size())};
}

GangRef GangPool::append(GangRef ref, Gang gang, std::span<const std::uint64_t> gpu_masks,
                         std::uint32_t copy) {
  FL_CHECK(!ref.empty() && gpu_masks.size() == gang.size());
  const std::size_t size = ref.slices + gang.size();
  GangRef whole{ref.offset, static_cast<std::uint32_t>(size)};
  if (size_class(size) != size_class(ref.slices)) {
    whole.offset = allocate(size);
    std::copy_n(slices_.begin() + ref.offset, ref.slices, slices_.begin() + whole.offset);
    std::copy_n(gpu_masks_.begin() + ref.offset, ref.slices, gpu_masks_.begin() + whole.offset);
    release(ref);
  }
  std::size_t at = whole.offset + ref.slices;
  for (std::size_t i = 0; i < gang.size(); ++i, ++at) {
    slices_[at] = {gang[i].node, gang[i].gpus, static_cast<std::uint16_t>(copy)};
    gpu_masks_[at] = gpu_masks[i];
  }
  return whole;
}

void GangPool::release(GangRef ref) {
  if (ref.empty()) return;
  FL_CHECK(is_block(ref), "{} slices at {} of {}", ref.slices, ref.offset, slices_.size());
  free_[size_class(ref.slices)].push_back(ref.offset);
}

}  // namespace fairlead
