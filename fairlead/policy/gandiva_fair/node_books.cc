#include "fairlead/policy/gandiva_fair/node_books.h"

namespace fairlead {

bool NodeBooks::begin(const Cluster& cluster, const FreeIndex& gpus) {
  if (spare_ && nodes_.size() == cluster.nodes()) return false;
  const std::size_t types = cluster.type_names.size();
  nodes_of_type_.resize(types);
  by_load_.resize(types);
  type_gpus_.resize(types);
  // State that follows from the cluster and the nodes' states, which may have been loaded.
  if (!spare_) {
    spare_.emplace(cluster);
    for (NodeId node : ids<NodeId>(nodes_.size())) enter(cluster, node);
  }
  slot_.resize(cluster.nodes());
  is_touched_.resize(cluster.nodes());
  while (nodes_.size() < cluster.nodes()) {
    if (!spare_->has(NodeId(nodes_.size()))) spare_->add_node();
    const NodeId node = nodes_.push_back({});
    const std::uint32_t usable = gpus.capacity(node);
    nodes_[node].gpus = usable > 0 ? usable : cluster.node_gpus[node];
    nodes_[node].is_down = usable == 0;
    enter(cluster, node);
  }
  return true;
}

void NodeBooks::enter(const Cluster& cluster, NodeId node) {
  Node& books = nodes_[node];
  const GpuTypeId type = cluster.node_type[node];
  nodes_of_type_[type].push_back(node);
  books.type = type;
  by_load_[type].set(node, books.load);
  spare_->set_gpus(node, books.usable());
  if (books.is_down) return;
  if (books.wanted > 0) spare_->take(node, std::min(books.wanted, books.gpus));
  type_gpus_[type] += books.gpus;
}

void NodeBooks::resize(NodeId node, std::uint32_t gpus) {
  Node& books = nodes_[node];
  FL_CHECK(books.wanted == 0, "node {} keeps jobs and gets other GPUs", node.row());
  type_gpus_[books.type] += std::int64_t{gpus} - books.usable();
  spare_->set_gpus(node, gpus);
  books.is_down = gpus == 0;
  if (gpus > 0) books.gpus = gpus;
}

bool NodeBooks::has_room(NodeId node, std::uint32_t gpus, std::uint32_t less) const {
  const Node& books = nodes_[node];
  return gpus <= books.usable() && books.wanted - less + gpus <= jobs_per_gpu_max_ * books.gpus;
}

// --- Its jobs ---------------------------------------------------------------------------------

bool NodeBooks::add(NodeId node, const StrideClient& client) {
  Node& books = nodes_[node];
  books.queue.push_back(client);
  const bool begins = want(node, client.gpus);
  set_load(node, books.load + std::min<double>(client.gpus, client.tickets) / books.gpus);
  touch(node);
  return begins;
}

bool NodeBooks::add_slice(Slice slice, JobId job, double time) {
  Node& books = nodes_[slice.node];
  books.spreads.push_back(job);
  const bool begins = want(slice.node, slice.gpus);
  set_load(slice.node, books.load + time * slice.gpus / books.gpus);
  touch(slice.node);
  return begins;
}

void NodeBooks::remove(NodeId node, JobId job) {
  Node& books = nodes_[node];
  const auto at = std::ranges::find(books.queue, job, &StrideClient::job);
  FL_CHECK(at != books.queue.end(), "job {} is not on its node", job.row());
  const StrideClient client = *at;
  books.queue.erase(at);
  want(node, -std::int64_t{client.gpus});
  set_load(node, books.load - std::min<double>(client.gpus, client.tickets) / books.gpus);
  touch(node);
}

// The load stays until the next set_load().
void NodeBooks::remove_slice(Slice slice, JobId job) {
  std::erase(nodes_[slice.node].spreads, job);
  want(slice.node, -std::int64_t{slice.gpus});
  touch(slice.node);
}

void NodeBooks::set_load(NodeId node, double load) {
  Node& books = nodes_[node];
  if (load == books.load) return;
  books.load = load;
  by_load_[books.type].set(node, load);
}

// Adds (negative: subtracts) GPUs that the node's jobs need; true if it is contended from now on.
bool NodeBooks::want(NodeId node, std::int64_t gpus) {
  Node& books = nodes_[node];
  const std::uint32_t has = books.gpus;
  const std::uint32_t before = std::min(books.wanted, has);
  books.wanted = static_cast<std::uint32_t>(books.wanted + gpus);
  const std::uint32_t after = std::min(books.wanted, has);
  if (after > before) spare_->take(node, after - before);
  if (after < before) spare_->give(node, before - after);
  if (books.is_contended == (books.wanted > has)) return false;
  set_contended(node, !books.is_contended);
  return books.is_contended;
}

void NodeBooks::set_contended(NodeId node, bool is_contended) {
  nodes_[node].is_contended = is_contended;
  if (is_contended) {
    slot_[node] = static_cast<std::uint32_t>(contended_.size());
    contended_.push_back(node);
    return;
  }
  const std::uint32_t slot = slot_[node];
  contended_[slot] = contended_.back();
  slot_[contended_[slot]] = slot;
  contended_.pop_back();
}

void NodeBooks::touch(NodeId node) {
  if (is_touched_[node] != 0) return;
  is_touched_[node] = 1;
  touched_.push_back(node);
}

void NodeBooks::forget_touched() {
  for (NodeId node : touched_) is_touched_[node] = 0;
  touched_.clear();
}

void NodeBooks::fields(Archive& archive) {
  archive(nodes_, contended_);
  if (!archive.reads()) return;
  // The slots of contended nodes follow from the list.
  slot_.resize(nodes_.size());
  for (std::size_t slot = 0; slot < contended_.size(); ++slot) {
    const NodeId node = contended_[slot];
    archive.expect(nodes_.has(node));
    if (!archive.ok()) break;
    nodes_[node].is_contended = true;
    slot_[node] = static_cast<std::uint32_t>(slot);
  }
}

}  // namespace fairlead
