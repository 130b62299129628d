#include "fairlead/pods/kueue_view.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

Pod pod_of(const Owner& owner, std::uint32_t number, std::string node) {
  Pod pod{.uid = fmt::format("{}/{}", owner.uid, number),
          .name_space = owner.name_space,
          .name = fmt::format("{}/{}", owner.object_name, number),
          .version = {},
          .owner = owner.uid,
          .node = std::move(node),
          .gpus = 1,
          .wish = {},
          .report = {},
          .requests = {},
          .index = number,
          .reason = {}};
  pod.is_ours = pod.is_of_known_kind = pod.comes_again = true;
  return pod;
}

void set_state(QuotaState state, Pod& pod) {
  pod.state = state == QuotaState::kReserved ? Pod::State::kPending : Pod::State::kRunning;
  pod.is_leaving = state == QuotaState::kLeaves;
}

}  // namespace

void KueueView::on(const OwnerKind& kind, const ReflectedChange& change) {
  if (kind.kind == kWorkload) return on_workload(change);
  const std::string& name = change.name.second;
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  if (kind.kind == kLocalQueue) {
    local_queues_.erase(change.name);
    if (!is_gone) local_queues_[change.name] = text_at(*change.object, {"spec", "clusterQueue"});
  } else if (kind.kind == kResourceFlavor) {
    products_.erase(name);
    if (!is_gone) products_[name] = product_of_flavor(*change.object);
  } else if (named_.empty() || named_.contains(name)) {
    queues_.erase(name);
    if (!is_gone) queues_[name] = change.object;
  }
  set_nodes();
  look_at_all();
}

void KueueView::on_workload(const ReflectedChange& change) {
  if (change.kind != ReflectedChange::Kind::kDeleted) {
    Known& known = workloads_[change.name];
    known.object = change.object;
    return look_at(known);
  }
  const auto found = workloads_.find(change.name);
  if (found == workloads_.end()) return;
  remove_pods(found->second);
  if (found->second.is_gang) sinks_.no_gang(text_at(*change.object, {"metadata", "uid"}));
  workloads_.erase(found);
}

void KueueView::set_nodes() {
  std::map<std::string, std::vector<Node>> before;
  std::swap(before, nodes_);
  for (const auto& [name, queue] : queues_) {
    std::vector<Node> nodes = nodes_of_queue(*queue, products_);
    if (nodes.empty()) continue;
    for (const Node& node : nodes) sinks_.node(node);
    nodes_[name] = std::move(nodes);
  }
  for (const auto& [queue, nodes] : before) {
    const auto now = nodes_.find(queue);
    const std::size_t left = now == nodes_.end() ? 0 : now->second.size();
    for (std::size_t i = left; i < nodes.size(); ++i) sinks_.no_node(nodes[i].name);
  }
}

void KueueView::look_at_all() {
  for (auto& [name, known] : workloads_) look_at(known);
}

std::string KueueView::queue_of(const Json& workload) const {
  const std::string& admitted = text_at(workload, {"status", "admission", "clusterQueue"});
  if (!admitted.empty()) return admitted;
  const auto found = local_queues_.find(
      {text_at(workload, {"metadata", "namespace"}), text_at(workload, {"spec", "queueName"})});
  return found == local_queues_.end() ? std::string() : found->second;
}

std::optional<Owner> KueueView::gang_of(const Json& workload) const {
  const std::string queue = queue_of(workload);
  if (!nodes_.contains(queue) || gpus_of_workload(workload) == 0) return std::nullopt;
  Owner owner = owner_of_workload(workload, queue);
  owner.preempts = preempts_within(*queues_.at(queue));
  return owner;
}

void KueueView::look_at(Known& known) {
  const std::optional<Owner> owner = gang_of(*known.object);
  if (!owner) return leave(known);
  known.is_gang = true;
  sinks_.gang(*owner);
  const QuotaState now = quota_state_of(*known.object);
  if (std::exchange(known.state, now) == now) return;
  if (now == QuotaState::kNone) return remove_pods(known);
  if (known.pods.empty()) known.pods = place(*owner);
  for (Pod& pod : known.pods) {
    set_state(now, pod);
    sinks_.pod(pod);
  }
}

// The Workload is in no queue that counts. One that Fairlead deactivated stays with it until it is active again.
void KueueView::leave(Known& known) {
  remove_pods(known);
  if (!known.is_gang) return;
  Owner owner = owner_of_workload(*known.object, queue_of(*known.object));
  if (owner.state == Owner::State::kHere && owner.is_suspended && owner.is_ours) {
    owner.state = Owner::State::kLeft;
    return sinks_.gang(std::move(owner));
  }
  known.is_gang = false;
  sinks_.no_gang(owner.key);
}

// Kueue may have given it more than the quota: then the last node has the rest.
std::vector<Pod> KueueView::place(const Owner& owner) {
  std::vector<Pod> pods;
  for (const Node& node : nodes_.at(owner.queue)) {
    std::uint32_t& taken = taken_[node.name];
    const bool is_last = &node == &nodes_.at(owner.queue).back();
    while (pods.size() < owner.pods && (taken < node.gpus || is_last)) {
      ++taken;
      pods.push_back(pod_of(owner, static_cast<std::uint32_t>(pods.size()), node.name));
    }
  }
  return pods;
}

void KueueView::remove_pods(Known& known) {
  known.state = QuotaState::kNone;
  for (Pod& pod : std::exchange(known.pods, {})) {
    --taken_[pod.node];
    sinks_.no_pod(std::move(pod));
  }
}

}  // namespace fairlead
