#include "fairlead/model/free_index.h"

#include <bit>

namespace fairlead {
namespace {

constexpr std::uint32_t kBits = 64;

void set_bit(std::span<std::uint64_t> row, NodeId node) {
  row[node.row() / kBits] |= std::uint64_t{1} << (node.row() % kBits);
}
void clear_bit(std::span<std::uint64_t> row, NodeId node) {
  row[node.row() / kBits] &= ~(std::uint64_t{1} << (node.row() % kBits));
}

// Calls `word_at` for each word of `range` in order until one has a bit inside the range.
template <class WordAt>
NodeId lowest_bit(NodeRange range, const WordAt& word_at) {
  FL_DCHECK(range.begin <= range.end, "nodes {} to {}", range.begin, range.end);
  if (range.begin >= range.end) return NodeId::none();
  const std::uint32_t last = (range.end - 1) / kBits;
  for (std::uint32_t w = range.begin / kBits; w <= last; ++w) {
    std::uint64_t word = word_at(w);
    if (w == range.begin / kBits) word &= ~std::uint64_t{0} << (range.begin % kBits);
    if (w == last && range.end % kBits != 0) word &= (std::uint64_t{1} << (range.end % kBits)) - 1;
    if (word != 0) {
      return NodeId(std::size_t{w} * kBits + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
  return NodeId::none();
}

}  // namespace

FreeIndex::FreeIndex(const Cluster& cluster)
    : cluster_(&cluster), free_(cluster.node_gpus), gpus_(cluster.node_gpus) {
  lay_out();
  FL_CHECK(total_ == cluster.gpus && capacity_ == cluster.gpus,
           "{} free GPUs of {} in a cluster of {}", total_, capacity_, cluster.gpus);
}

void FreeIndex::lay_out() {
  const std::size_t types = cluster_->type_names.size();
  row_words_ = cluster_->nodes() / kBits + 1;
  row_count_ = std::size_t{cluster_->node_gpus_max} + 1;
  rows_.assign((row_count_ + 1) * types * row_words_, 0);
  of_type_ = IdVector<GpuTypeId, std::uint32_t>(types, 0);
  capacity_of_type_ = IdVector<GpuTypeId, std::uint32_t>(types, 0);
  total_ = capacity_ = 0;
  for (NodeId node : ids<NodeId>(cluster_->nodes())) link(node);
}

void FreeIndex::add_node() {
  const NodeId node(free_.size());
  free_.push_back(cluster_->node_gpus[node]);
  gpus_.push_back(cluster_->node_gpus[node]);
  FL_CHECK(free_.size() == cluster_->nodes(), "{} of {} nodes are indexed", free_.size(),
           cluster_->nodes());
  lay_out();
}

std::uint32_t FreeIndex::of(TypeMask types) const {
  std::uint32_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(of_type_.size())) {
    if ((types & type_bit(type)) != 0) gpus += of_type_[type];
  }
  return gpus;
}

std::uint32_t FreeIndex::room(GpuTypeId type, std::uint32_t task_gpus) const {
  if (task_gpus == 1) return of_type_[type];
  std::uint32_t gpus = 0;
  const std::uint32_t most = cluster_->type_node_gpus_max[type];
  for (std::uint32_t free = task_gpus; free <= most; ++free) {
    std::uint32_t nodes = 0;
    for (std::uint64_t word : row(type, free)) {
      // Most words are 0, and not every processor that the program runs on counts bits.
      if (word != 0) nodes += static_cast<std::uint32_t>(std::popcount(word));
    }
    gpus += nodes * whole_tasks(free, task_gpus);
  }
  return gpus;
}

std::uint32_t FreeIndex::room(TypeMask types, std::uint32_t task_gpus) const {
  std::uint32_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(of_type_.size())) {
    if ((types & type_bit(type)) != 0) gpus += room(type, task_gpus);
  }
  return gpus;
}

NodeRange FreeIndex::everywhere() const {
  return {0, static_cast<std::uint32_t>(cluster_->nodes())};
}

NodeId FreeIndex::first(GpuTypeId type, std::uint32_t gpus, NodeRange range) const {
  const std::uint32_t most = cluster_->type_node_gpus_max[type];
  if (of_type_[type] < gpus || gpus > most) return NodeId::none();
  return lowest_bit(range, [&](std::uint32_t w) {
    std::uint64_t word = 0;
    for (std::uint32_t free = gpus; free <= most; ++free) word |= row(type, free)[w];
    return word;
  });
}

NodeId FreeIndex::first_idle(GpuTypeId type, NodeRange range) const {
  const ConstRow nodes = idle(type);
  return lowest_bit(range, [&](std::uint32_t w) { return nodes[w]; });
}

NodeId FreeIndex::tightest(GpuTypeId type, std::uint32_t gpus, NodeRange range) const {
  if (of_type_[type] < gpus) return NodeId::none();
  for (std::uint32_t free = gpus; free <= cluster_->type_node_gpus_max[type]; ++free) {
    const ConstRow nodes = row(type, free);
    const NodeId node = lowest_bit(range, [&](std::uint32_t w) { return nodes[w]; });
    if (!node.is_none()) return node;
  }
  return NodeId::none();
}

NodeId FreeIndex::freest(GpuTypeId type, NodeRange range) const {
  for (std::uint32_t free = cluster_->type_node_gpus_max[type]; free > 0; --free) {
    const ConstRow nodes = row(type, free);
    const NodeId node = lowest_bit(range, [&](std::uint32_t w) { return nodes[w]; });
    if (!node.is_none()) return node;
  }
  return NodeId::none();
}

void FreeIndex::take(NodeId node, std::uint32_t gpus) {
  FL_CHECK(free_[node] >= gpus, "node {} has {} free GPUs, not {}", node.row(), free_[node], gpus);
  set_free(node, free_[node] - gpus);
}

void FreeIndex::give(NodeId node, std::uint32_t gpus) {
  FL_CHECK(free_[node] + gpus <= gpus_[node], "node {} would have {} free GPUs of {}", node.row(),
           free_[node] + gpus, gpus_[node]);
  set_free(node, free_[node] + gpus);
}

void FreeIndex::set_gpus(NodeId node, std::uint32_t gpus) {
  const std::uint32_t taken = gpus_[node] - std::uint32_t{free_[node]};
  FL_CHECK(taken <= gpus && gpus <= cluster_->node_gpus[node], "node {} gets {} GPUs; {} are taken",
           node.row(), gpus, taken);
  unlink(node);
  gpus_[node] = static_cast<std::uint16_t>(gpus);
  free_[node] = static_cast<std::uint16_t>(gpus - taken);
  link(node);
}

void FreeIndex::set_free(NodeId node, std::uint32_t free) {
  FL_DCHECK(free <= gpus_[node]);
  const GpuTypeId type = cluster_->node_type[node];
  clear_bit(row(type, free_[node]), node);
  clear_bit(idle(type), node);
  set_bit(row(type, free), node);
  if (free == gpus_[node]) set_bit(idle(type), node);
  of_type_[type] += free - free_[node];
  total_ += free - free_[node];
  free_[node] = static_cast<std::uint16_t>(free);
}

// Adds the node to the totals and to the rows of its number of free GPUs.
void FreeIndex::link(NodeId node) {
  const GpuTypeId type = cluster_->node_type[node];
  FL_DCHECK(total_ + free_[node] <= cluster_->gpus);
  set_bit(row(type, free_[node]), node);
  if (gpus_[node] > 0 && free_[node] == gpus_[node]) set_bit(idle(type), node);
  of_type_[type] += free_[node];
  total_ += free_[node];
  capacity_of_type_[type] += gpus_[node];
  capacity_ += gpus_[node];
}

void FreeIndex::unlink(NodeId node) {
  const GpuTypeId type = cluster_->node_type[node];
  FL_DCHECK(of_type_[type] >= free_[node] && total_ >= free_[node]);
  clear_bit(row(type, free_[node]), node);
  clear_bit(idle(type), node);
  of_type_[type] -= free_[node];
  total_ -= free_[node];
  capacity_of_type_[type] -= gpus_[node];
  capacity_ -= gpus_[node];
}

}  // namespace fairlead
