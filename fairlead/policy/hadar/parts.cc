#include "fairlead/policy/hadar/parts.h"

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

constexpr std::uint32_t kBits = 64;

std::size_t words_for(std::size_t nodes) { return (nodes + kBits - 1) / kBits; }

std::uint64_t size_bit(std::uint32_t gpus) { return std::uint64_t{1} << (gpus - 1); }

}  // namespace

void HadarFree::sum(const Cluster& cluster) {
  of_type.clear();
  of_type.resize(cluster.type_names.size());
  for (NodeId node : ids<NodeId>(on.size())) of_type[cluster.node_type[node]] += on[node];
}

void HadarFree::take(const Cluster& cluster, Gang gang) {
  for (Slice slice : gang) {
    FL_DCHECK(on[slice.node] >= slice.gpus);
    on[slice.node] = static_cast<std::uint16_t>(on[slice.node] - slice.gpus);
    of_type[cluster.node_type[slice.node]] -= slice.gpus;
  }
}

void HadarFree::give(const Cluster& cluster, Gang gang) {
  for (Slice slice : gang) {
    on[slice.node] = static_cast<std::uint16_t>(on[slice.node] + slice.gpus);
    of_type[cluster.node_type[slice.node]] += slice.gpus;
  }
}

void HadarFree::keep(Gang gang, std::span<const std::uint64_t> gpu_masks) {
  if (gpu_masks.empty()) return;
  if (kept.empty()) kept.resize(on.size());
  for (std::size_t i = 0; i < gpu_masks.size(); ++i) kept[gang[i].node] |= gpu_masks[i];
}

std::span<std::uint64_t> HadarPart::row(std::uint32_t free) {
  const std::size_t words = words_for(on.size());
  return std::span(nodes_with).subspan(free * words, words);
}

void HadarPart::set(std::uint32_t place, std::uint32_t free) {
  const std::uint32_t before = on[place];
  const std::uint64_t bit = std::uint64_t{1} << place % kBits;
  const std::span<std::uint64_t> old_row = row(before);
  old_row[place / kBits] &= ~bit;
  row(free)[place / kBits] |= bit;
  const auto is_zero = [](std::uint64_t word) { return word == 0; };
  if (before > 0 && std::ranges::all_of(old_row, is_zero)) sizes &= ~size_bit(before);
  if (free > 0) sizes |= size_bit(free);
  gpus += free - before;
  on[place] = static_cast<std::uint16_t>(free);
}

void HadarPart::keep(std::uint32_t place, std::uint64_t gpu_mask) {
  if (kept.empty()) kept.resize(on.size());
  kept[place] |= gpu_mask;
}

std::uint32_t HadarPart::tightest(std::uint32_t least) const {
  const std::uint64_t enough = least > kNodeGpusMax ? 0 : sizes >> (least - 1);
  if (enough == 0) return kNone;
  const std::size_t free = least + static_cast<std::size_t>(std::countr_zero(enough));
  const std::uint64_t* const words = nodes_with.data() + free * words_for(on.size());
  std::uint32_t word = 0;
  while (words[word] == 0) ++word;
  return word * kBits + static_cast<std::uint32_t>(std::countr_zero(words[word]));
}

void HadarParts::begin(const Cluster& cluster, const HadarOrder& order, const HadarFree& free,
                       std::vector<HadarPart*>& first) {
  used_ = 0;
  made_ = 0;
  free_.clear();
  first.clear();
  for (GpuTypeId type : ids<GpuTypeId>(order.nodes.size())) {
    const std::vector<NodeId>& nodes = order.nodes[type];
    HadarPart& part = make();
    part.gpus = 0;
    part.sizes = 0;
    part.on.assign(nodes.size(), 0);
    part.nodes_with.assign(words_for(nodes.size()) * (cluster.type_node_gpus_max[type] + 1), 0);
    part.kept.clear();
    part.room = free.room;
    for (std::uint32_t place = 0; place < nodes.size(); ++place) {
      part.set(place, free.on[nodes[place]]);
      if (!free.kept.empty()) part.keep(place, free.kept[nodes[place]]);
    }
    first.push_back(&part);
  }
}

HadarPart& HadarParts::copy(const HadarPart& part) {
  HadarPart& made = make();
  made.gpus = part.gpus;
  made.sizes = part.sizes;
  made.on = part.on;
  made.nodes_with = part.nodes_with;
  made.kept = part.kept;
  if (part.room.is_limited() || made.room.is_limited()) made.room = part.room;
  return made;
}

// Returns a part that no bid has asked yet, with old values otherwise.
HadarPart& HadarParts::make() {
  ++made_;
  HadarPart* part = nullptr;
  if (!free_.empty()) {
    part = free_.back();
    free_.pop_back();
  } else {
    if (used_ == parts_.size()) parts_.push_back(std::make_unique<HadarPart>());
    part = parts_[used_++].get();
  }
  part->forget_asked();
  return *part;
}

void HadarParts::sweep() {
  made_ = 0;
  free_.clear();
  for (std::size_t i = 0; i < used_; ++i) {
    if (parts_[i]->mark != mark_) free_.push_back(parts_[i].get());
  }
}

}  // namespace fairlead
