// The state of the cluster, as far as a scheduler of GPUs needs it: nodes, pods, budgets, quotas, volumes, priority classes, tickets.
//
// The view follows the API server. It also keeps the calls to let a pod run that were sent: such a call may still take
// effect, so its GPUs count as taken (kube-scheduler assumes a pod in the same sense). The view knows a gang only as
// the key of its pods (Pod::gang).
#pragma once

#include "fairlead/pods/budgets.h"
#include "fairlead/pods/devices.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/inventory.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/node.h"
#include "fairlead/pods/priority_classes.h"
#include "fairlead/pods/quotas.h"
#include "fairlead/pods/residents.h"
#include "fairlead/pods/volumes.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace fairlead {

class ClusterView {
 public:
  // -- Changes from the API server.

  // Changes of a node.
  struct NodeNews {
    bool offers = false;  // its resources changed
    bool facts = false;   // the facts that decide which pods it may run changed
  };
  NodeNews set_node(Node node);
  void remove_node(const std::string& name) { nodes_.erase(name); }
  // Adds or replaces a pod. Returns the node of its previous state; empty: none.
  std::string set_pod(const Pod& pod);
  std::string remove_pod(const std::string& uid);
  void set_budget(const ReflectedChange& change) { budgets_.on(change); }
  void set_quota(const ReflectedChange& change) { quotas_.on(change); }
  Volumes& volumes() { return volumes_; }
  Devices& devices() { return devices_; }
  PriorityClasses& priorities() { return priorities_; }
  void set_tickets(std::map<std::string, std::int64_t> tickets) { tickets_ = std::move(tickets); }

  // -- Calls that may still take effect.

  // Called after a call was sent that lets a pod run, kBind or kThaw, or that gives it devices.
  void assume(const GangAct& act);
  // Called after the answer to such a call. Forgets the call if it was refused, unless an earlier call for the same pod
  // was never answered and may still take effect.
  void take_answer(const GangAct& act, int status);
  // Returns true if the pod was sent to a node, and the API server does not show it there yet.
  bool may_come(const std::string& uid) const;
  bool has_assumed() const { return !assumed_.empty(); }

  // -- Reads. Pointers are valid until the next change.

  const Inventory::Nodes& nodes() const { return nodes_; }
  // Each returns null if there is none.
  const Node* node(const std::string& name) const;
  const Pod* pod(const std::string& uid) const;
  // Returns true if the node is gone, or its kubelet is silent.
  bool is_lost(const std::string& node) const;
  // Calls `sink` with each pod that is on the node and has not ended, or that may still come.
  // O(pods of the node).
  void each_on(const std::string& node, const std::function<void(const Pod&)>& sink) const;
  // Returns true if the node is ready and has that many GPUs that no pod has or may still get. A pod of the gang
  // `own` that may still come does not count, because the GPUs are for it: its binding is sent again.
  bool fits(const std::string& node, std::uint32_t gpus, const std::string& own) const;
  // Returns the GPUs of pods on the node for which `counts` is true, without pods that may still come.
  std::uint32_t taken(const std::string& node, const std::function<bool(const Pod&)>& counts) const;
  const Residents& residents() const { return residents_; }
  const Volumes& volumes() const { return volumes_; }
  const Devices& devices() const { return devices_; }
  const PriorityClasses& priorities() const { return priorities_; }
  // Returns a pod that uses the claim, and is on a node or may still come to one; null: none has it but pods of the gang
  // `own`. O(pods).
  const Pod* user_of(const std::string& name_space, const std::string& claim,
                     const std::string& own) const;
  // Returns why the gang must not be stopped now: its pods ask for that, or a budget does not allow it.
  // Empty: it may be stopped.
  std::string objection(const PodGang& gang) const;
  // Returns why that many pods of the gang cannot be created; empty: no quota keeps them.
  std::string quota_objection(const PodGang& gang, std::uint32_t pods) const;
  // Returns the tickets of a namespace; 1 if it has no entry.
  std::int64_t tickets(const std::string& name_space) const;

 private:
  struct Assumed {
    std::string node;
    bool is_open = false;  // one such call had no answer, so a refusal of another proves nothing
  };

  void end_binding(const std::string& uid);

  Inventory::Nodes nodes_;                                   // by name
  std::map<std::string, Pod> pods_;                          // by uid
  std::map<std::string, std::set<std::string>> pods_on_;     // uids, by node
  std::map<std::string, Assumed> assumed_;                   // bindings, by uid of the pod
  std::map<std::string, std::set<std::string>> assumed_on_;  // uids of these pods, by node
  Residents residents_;
  Budgets budgets_;
  Quotas quotas_;
  Volumes volumes_;
  Devices devices_;
  PriorityClasses priorities_;
  std::map<std::string, std::int64_t> tickets_;  // by namespace; only namespaces with an entry
};

}  // namespace fairlead
