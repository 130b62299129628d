#include "fairlead/model/gang_pool.h"

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

std::size_t size_class(std::size_t slices) {
  return static_cast<std::size_t>(std::bit_width(slices - 1));
}

}  // namespace

GangRef GangPool::add(Gang gang) {
  FL_CHECK(!gang.empty());
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
  std::ranges::copy(gang, slices_.begin() + offset);
  std::fill_n(gpu_masks_.begin() + offset, gang.size(), 0);
  return {offset, static_cast<std::uint32_t>(gang.size())};
}

void GangPool::release(GangRef ref) {
  if (!ref.empty()) free_[size_class(ref.slices)].push_back(ref.offset);
}

}  // namespace fairlead
