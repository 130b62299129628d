#include "fairlead/pods/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace fairlead {

ClusterView::NodeNews ClusterView::set_node(Node node) {
  Node& before = nodes_[node.name];
  const auto facts = [](const Node& of) {
    return std::tie(of.labels, of.taints, of.gpus_all, of.slots_per_gpu, of.allocatable);
  };
  const NodeNews news{.offers = before.allocatable != node.allocatable,
                      .facts = facts(before) != facts(node)};
  before = std::move(node);
  return news;
}

std::string ClusterView::set_pod(const Pod& pod) {
  Pod& now = pods_[pod.uid];
  std::string before = std::exchange(now, pod).node;
  if (before != pod.node) pods_on_[before].erase(pod.uid);
  if (!pod.node.empty()) {
    pods_on_[pod.node].insert(pod.uid);
    end_binding(pod.uid);
  }
  residents_.set(pod);
  return before;
}

std::string ClusterView::remove_pod(const std::string& uid) {
  end_binding(uid);
  residents_.remove(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return {};
  std::string before = std::move(found->second.node);
  pods_on_[before].erase(uid);
  pods_.erase(found);
  return before;
}

void ClusterView::assume(const GangAct& act) {
  if (act.kind == GangAct::Kind::kDevice) return devices_.assume(act.device);
  if (act.kind == GangAct::Kind::kBind) {
    std::string& node = assumed_[act.pod].node;
    if (!node.empty()) assumed_on_[node].erase(act.pod);
    node = act.node;
    assumed_on_[node].insert(act.pod);
  }
  residents_.asked(act.pod, act.node, act.gpus);
}

void ClusterView::end_binding(const std::string& uid) {
  const auto found = assumed_.find(uid);
  if (found == assumed_.end()) return;
  assumed_on_[found->second.node].erase(uid);
  assumed_.erase(found);
}

void ClusterView::take_answer(const GangAct& act, int status) {
  const auto assumed = assumed_.find(act.pod);
  const bool is_refused = status >= 400 && status < 500;
  if (assumed != assumed_.end() && !is_refused) {
    assumed->second.is_open |= status == 0 || status >= 500;
  }
  if (!is_refused || (assumed != assumed_.end() && assumed->second.is_open)) return;
  end_binding(act.pod);
  residents_.refused(act.pod);
}

bool ClusterView::may_come(const std::string& uid) const {
  const Pod* const found = pod(uid);
  return assumed_.contains(uid) && found != nullptr && found->node.empty();
}

const Node* ClusterView::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Pod* ClusterView::pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

bool ClusterView::is_lost(const std::string& node) const {
  const Node* const found = this->node(node);
  return found == nullptr || !found->is_ready;
}

void ClusterView::each_on(const std::string& node,
                          const std::function<void(const Pod&)>& sink) const {
  if (const auto coming = assumed_on_.find(node); coming != assumed_on_.end()) {
    for (const std::string& uid : coming->second) {
      if (may_come(uid)) sink(pods_.at(uid));
    }
  }
  const auto on = pods_on_.find(node);
  if (on == pods_on_.end()) return;
  for (const std::string& uid : on->second) {
    if (const Pod& pod = pods_.at(uid); pod.takes_gpus()) sink(pod);
  }
}

bool ClusterView::fits(const std::string& node, std::uint32_t gpus, const std::string& own) const {
  if (is_lost(node)) return false;
  std::uint32_t taken = 0;
  each_on(node, [&](const Pod& pod) {
    const bool is_for_it = pod.node.empty() && !pod.is_leaving && pod.gang == own;
    if (!is_for_it) taken += pod.gpus;
  });
  return taken + gpus <= nodes_.at(node).gpus;
}

std::uint32_t ClusterView::taken(const std::string& node,
                                 const std::function<bool(const Pod&)>& counts) const {
  std::uint32_t gpus = 0;
  each_on(node, [&](const Pod& pod) {
    if (!pod.node.empty() && counts(pod)) gpus += pod.gpus;
  });
  return gpus;
}

const Pod* ClusterView::user_of(const std::string& name_space, const std::string& claim,
                                const std::string& own) const {
  for (const auto& [uid, pod] : pods_) {
    if (pod.name_space != name_space || (pod.is_ours && pod.gang == own)) continue;
    if (!pod.takes_gpus() && !may_come(uid)) continue;
    if (std::ranges::find(pod.claims, claim, &UsedClaim::name) != pod.claims.end()) return &pod;
  }
  return nullptr;
}

std::string ClusterView::objection(const PodGang& gang) const {
  const Owner& owner = gang.owner();
  if (gang.is_pinned()) {
    if (owner.comes_again) return fmt::format("it says {}: false", kPreemptible);
    return owner.is_bare
               ? "its pods have no controller that would make them again"
               : fmt::format("its controller is not known to make its pods again (no {}: true)",
                             kPreemptible);
  }
  return owner.is_held ? std::string() : budgets_.objection(gang.pods());
}

std::string ClusterView::quota_objection(const PodGang& gang, std::uint32_t pods) const {
  const Owner& owner = gang.owner();
  // Which pods are missing is not known if only some are; each needs at most as much as a task.
  const bool is_all = pods == owner.pods;
  return quotas_.objection({.name_space = owner.name_space,
                            .priority_class = priorities_.class_of_pods(owner),
                            .have_deadline = owner.has_deadline,
                            .each = is_all ? owner.requests : owner.needs.requests,
                            .count = is_all ? 1 : pods});
}

std::int64_t ClusterView::tickets(const std::string& name_space) const {
  const auto found = tickets_.find(name_space);
  return found == tickets_.end() ? 1 : found->second;
}

}  // namespace fairlead
