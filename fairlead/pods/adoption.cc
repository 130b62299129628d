#include "fairlead/pods/adoption.h"

#include "fairlead/pods/in_place.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace fairlead {
namespace {

using Free = IdVector<NodeId, std::uint64_t>;  // GPUs that no gang has

std::uint64_t low_bits(std::uint32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Returns the place of a gang that is bound, and takes its GPUs from `free`.
std::optional<GangInPlace> place_of(const PodGang& gang, const std::map<std::string, NodeId>& rows,
                                    Free& free) {
  const Owner& owner = gang.owner();
  if (owner.state != Owner::State::kHere || owner.is_suspended) return std::nullopt;
  GangInPlace found{.key = owner.key, .where = gang.found_at(), .slices = {}, .masks = {}};
  for (const GangPlace& place : found.where) {
    const auto row = rows.find(place.node);
    if (row == rows.end()) return std::nullopt;
    const std::uint32_t gpus = place.tasks * owner.task_gpus;
    if (static_cast<std::uint32_t>(std::popcount(free[row->second])) < gpus) return std::nullopt;
    found.slices.push_back({row->second, static_cast<std::uint16_t>(gpus)});
  }
  if (found.slices.empty()) return std::nullopt;
  std::ranges::sort(found.slices, {}, &Slice::node);
  for (Slice slice : found.slices) {
    std::uint64_t& left = free[slice.node];
    std::uint64_t mask = lowest_gpus(left, slice.gpus);
    if (owner.has_slots) {
      const auto place = std::ranges::find_if(
          found.where, [&](const GangPlace& at) { return rows.at(at.node) == slice.node; });
      mask = place->gpus;
      if (std::popcount(mask) != slice.gpus || (mask & ~left) != 0) return std::nullopt;
    }
    left &= ~mask;
    found.masks.push_back(mask);
  }
  return found;
}

}  // namespace

std::vector<GangInPlace> gangs_in_place(const GangBook& gangs, const Cluster& cluster,
                                        const std::map<std::string, NodeId>& rows) {
  Free all;
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    all.push_back(low_bits(cluster.node_gpus[node]));
  }
  const auto rests = [](const PodGang& gang) {
    return gang.owner().has_slots && !is_to_run(gang) && is_resident(gang);
  };
  std::vector<GangInPlace> found;
  for (const auto& [key, entry] : gangs.all()) {
    Free free = all;
    std::optional<GangInPlace> place;
    if (rests(entry.gang)) place = place_of(entry.gang, rows, free);
    if (!place) continue;
    place->runs = false;
    found.push_back(*std::move(place));
  }
  Free free = std::move(all);
  for (const auto& [key, entry] : gangs.all()) {
    if (entry.gang.owner().has_slots && !is_to_run(entry.gang)) continue;
    if (auto place = place_of(entry.gang, rows, free)) found.push_back(*std::move(place));
  }
  return found;
}

}  // namespace fairlead
