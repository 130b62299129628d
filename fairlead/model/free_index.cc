#include "fairlead/model/free_index.h"

#include <bit>

namespace fairlead {
namespace {

constexpr std::size_t kBits = 64;

std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (i % kBits); }
// Returns the bits from `i` up.
std::uint64_t from(std::size_t i) { return ~std::uint64_t{0} << (i % kBits); }
std::size_t lowest_bit(std::uint64_t word) {
  return static_cast<std::size_t>(std::countr_zero(word));
}

}  // namespace

NodeSets::NodeSets(std::size_t sets, std::size_t nodes)
    : words_(nodes / kBits + 1),
      stride_(words_ + words_ / kBits + 1),
      bits_(sets * stride_, 0),
      counts_(sets, 0) {}

void NodeSets::insert(std::size_t set, NodeId node) {
  std::uint64_t* const words = &bits_[set * stride_];
  const std::size_t w = node.row() / kBits;
  FL_DCHECK((words[w] & bit(node.row())) == 0, "node {} is in set {}", node.row(), set);
  words[w] |= bit(node.row());
  words[words_ + w / kBits] |= bit(w);
  ++counts_[set];
}

void NodeSets::erase(std::size_t set, NodeId node) {
  std::uint64_t* const words = &bits_[set * stride_];
  const std::size_t w = node.row() / kBits;
  FL_DCHECK((words[w] & bit(node.row())) != 0, "node {} is not in set {}", node.row(), set);
  words[w] &= ~bit(node.row());
  if (words[w] == 0) words[words_ + w / kBits] &= ~bit(w);
  --counts_[set];
}

std::uint64_t NodeSets::word(std::size_t first, std::size_t last, std::size_t w) const {
  std::uint64_t word = 0;
  for (std::size_t set = first; set <= last; ++set) word |= bits_[set * stride_ + w];
  return word;
}

NodeId NodeSets::lowest(std::size_t first, std::size_t last, NodeRange range) const {
  FL_DCHECK(range.begin <= range.end, "nodes {} to {}", range.begin, range.end);
  if (range.begin >= range.end) return NodeId::none();
  const auto below_end = [&](std::size_t node) {
    return node < range.end ? NodeId(node) : NodeId::none();
  };
  std::size_t w = range.begin / kBits;
  if (const std::uint64_t some = word(first, last, w) & from(range.begin); some != 0)
    return below_end(w * kBits + lowest_bit(some));
  // The next word that is not empty has the lowest node.
  const std::size_t end = (range.end - 1) / kBits + 1;
  for (++w; w < end; w = (w / kBits + 1) * kBits) {
    const std::uint64_t some = word(first, last, words_ + w / kBits) & from(w);
    if (some == 0) continue;
    w = w / kBits * kBits + lowest_bit(some);
    return w < end ? below_end(w * kBits + lowest_bit(word(first, last, w))) : NodeId::none();
  }
  return NodeId::none();
}

FreeIndex::FreeIndex(const Cluster& cluster)
    : cluster_(&cluster), free_(cluster.node_gpus), gpus_(cluster.node_gpus) {
  lay_out();
  FL_CHECK(total_ == cluster.gpus && capacity_ == cluster.gpus,
           "{} free GPUs of {} in a cluster of {}", total_, capacity_, cluster.gpus);
}

void FreeIndex::lay_out() {
  const std::size_t types = cluster_->type_names.size();
  sets_of_type_ = std::size_t{cluster_->node_gpus_max} + 1;
  sets_ = NodeSets((sets_of_type_ + 1) * types, cluster_->nodes());
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
    gpus += sets_.count(set_of(type, free)) * whole_tasks(free, task_gpus);
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
  return sets_.lowest(set_of(type, gpus), set_of(type, most), range);
}

NodeId FreeIndex::first_idle(GpuTypeId type, NodeRange range) const {
  return sets_.lowest(idle_set(type), idle_set(type), range);
}

NodeId FreeIndex::tightest(GpuTypeId type, std::uint32_t gpus, NodeRange range) const {
  if (of_type_[type] < gpus) return NodeId::none();
  for (std::uint32_t free = gpus; free <= cluster_->type_node_gpus_max[type]; ++free) {
    const NodeId node = sets_.lowest(set_of(type, free), set_of(type, free), range);
    if (!node.is_none()) return node;
  }
  return NodeId::none();
}

NodeId FreeIndex::freest(GpuTypeId type, NodeRange range) const {
  for (std::uint32_t free = cluster_->type_node_gpus_max[type]; free > 0; --free) {
    const NodeId node = sets_.lowest(set_of(type, free), set_of(type, free), range);
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
  if (free == free_[node]) return;
  if (free_[node] == gpus_[node]) sets_.erase(idle_set(type), node);
  if (free == gpus_[node]) sets_.insert(idle_set(type), node);
  sets_.erase(set_of(type, free_[node]), node);
  sets_.insert(set_of(type, free), node);
  of_type_[type] += free - free_[node];
  total_ += free - free_[node];
  free_[node] = static_cast<std::uint16_t>(free);
}

// Adds the node to the totals and to the rows of its number of free GPUs.
void FreeIndex::link(NodeId node) {
  const GpuTypeId type = cluster_->node_type[node];
  FL_DCHECK(total_ + free_[node] <= cluster_->gpus);
  sets_.insert(set_of(type, free_[node]), node);
  if (is_idle(node)) sets_.insert(idle_set(type), node);
  of_type_[type] += free_[node];
  total_ += free_[node];
  capacity_of_type_[type] += gpus_[node];
  capacity_ += gpus_[node];
}

void FreeIndex::unlink(NodeId node) {
  const GpuTypeId type = cluster_->node_type[node];
  FL_DCHECK(of_type_[type] >= free_[node] && total_ >= free_[node]);
  sets_.erase(set_of(type, free_[node]), node);
  if (is_idle(node)) sets_.erase(idle_set(type), node);
  of_type_[type] -= free_[node];
  total_ -= free_[node];
  capacity_of_type_[type] -= gpus_[node];
  capacity_ -= gpus_[node];
}

}  // namespace fairlead
