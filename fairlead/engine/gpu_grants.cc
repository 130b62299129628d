#include "fairlead/engine/gpu_grants.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

// The lowest `count` set bits of `mask`.
std::uint64_t lowest_bits(std::uint64_t mask, std::uint32_t count) {
  std::uint64_t taken = 0;
  for (; count > 0; --count) {
    FL_CHECK(mask != 0, "a node has fewer free GPUs than its index lists");
    const std::uint64_t bit = mask & (0 - mask);
    taken |= bit;
    mask ^= bit;
  }
  return taken;
}

// The lowest `count` set bits of `mask`, bits of `last` only if the others are too few.
std::uint64_t lowest_bits(std::uint64_t mask, std::uint64_t last, std::uint32_t count) {
  const std::uint64_t first = mask & ~last;
  const auto firsts = static_cast<std::uint32_t>(std::popcount(first));
  if (firsts >= count) return lowest_bits(first, count);
  return first | lowest_bits(mask & last, count - firsts);
}

}  // namespace

bool GpuGrants::keep(JobId job, GangRef gang) {
  const GangRef last = jobs_.last[job];
  if (gang.empty() || !std::ranges::equal(jobs_.gangs.gang(last), jobs_.gangs.gang(gang)))
    return false;
  const auto last_masks = std::as_const(jobs_.gangs).gpu_masks(last);
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) {
    const std::uint64_t mask = last_masks[i++];
    if ((free(slice.node) & mask) != mask) return false;
  }
  std::ranges::copy(last_masks, jobs_.gangs.gpu_masks(gang).begin());
  i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) granted_[slice.node] |= last_masks[i++];
  return true;
}

void GpuGrants::grant(JobId job, GangRef gang, const Backend& world) {
  const auto masks = jobs_.gangs.gpu_masks(gang);
  const auto last_masks = jobs_.gangs.gpu_masks(jobs_.last[job]);
  const bool same_slices =
      std::ranges::equal(jobs_.gangs.gang(jobs_.last[job]), jobs_.gangs.gang(gang));
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) {
    const std::uint64_t left = free(slice.node);
    const bool keeps = same_slices && (left & last_masks[i]) == last_masks[i];
    masks[i] =
        keeps ? last_masks[i] : lowest_bits(left, world.last_choice(job, slice.node), slice.gpus);
    granted_[slice.node] |= masks[i++];
  }
}

void GpuGrants::journalled(Gang gang) {
  for (Slice slice : gang) granted_[slice.node] = 0;
}

}  // namespace fairlead
