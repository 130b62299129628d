// What there is in the cluster, as far as a scheduler of GPUs needs to know it: nodes, pods, budgets, tickets.
//
// It follows the API server, and keeps beside that which calls to let a pod run were sent: such a call may yet take
// effect, so its GPUs count as taken (kube-scheduler assumes a pod in the same sense). Nothing here knows gangs
// beyond the key that each pod goes by (Pod::gang).
#pragma once

#include "fairlead/pods/budgets.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/inventory.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/node.h"
#include "fairlead/pods/residents.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace fairlead {

class ClusterView {
 public:
  // -- What the API server shows.

  // What is new about a node.
  struct NodeNews {
    bool offers = false;  // other resources than before
    bool facts = false;   // facts that decide which pods may be there
  };
  NodeNews set_node(Node node);
  void remove_node(const std::string& name) { nodes_.erase(name); }
  // Adds or replaces a pod. Returns the node that it was on before; empty: none.
  std::string set_pod(const Pod& pod);
  std::string remove_pod(const std::string& uid);
  void set_budget(const ReflectedChange& change) { budgets_.on(change); }
  void set_tickets(std::map<std::string, std::int64_t> tickets) { tickets_ = std::move(tickets); }

  // -- Calls that may yet take effect.

  // Called after a call was sent that lets a pod run: kBind or kThaw.
  void assume(const GangAct& act);
  // Called after the answer to such a call. Forgets the call if it was refused, unless an earlier one to the same end
  // was never answered and may still take effect.
  void take_answer(const GangAct& act, int status);
  // Returns true if the pod was sent to a node, and is not seen there yet.
  bool may_come(const std::string& uid) const;
  bool has_assumed() const { return !assumed_.empty(); }

  // -- Reads. Pointers are valid until the next change.

  const Inventory::Nodes& nodes() const { return nodes_; }
  // Each returns null if there is none.
  const Node* node(const std::string& name) const;
  const Pod* pod(const std::string& uid) const;
  // Returns true if the node is gone, or its kubelet is silent.
  bool is_lost(const std::string& node) const;
  // Calls with each pod that is on the node and not over, or that may come there. O(pods of the node + assumed).
  void each_on(const std::string& node, const std::function<void(const Pod&)>& sink) const;
  // Returns true if a node that is ready has so many GPUs that no pod has, nor may get.
  bool fits(const std::string& node, std::uint32_t gpus) const;
  // Returns the GPUs that pods have there for which `counts` holds, without those that may come.
  std::uint32_t taken(const std::string& node, const std::function<bool(const Pod&)>& counts) const;
  const Residents& residents() const { return residents_; }
  // Returns why the gang is not to be stopped now, although it is wanted: it said so, or a budget does not allow it.
  // Empty: it may be stopped.
  std::string objection(const PodGang& gang) const;
  // Returns the tickets of a namespace, which are 1 unless it is named.
  std::int64_t tickets(const std::string& name_space) const;

 private:
  struct Assumed {
    std::string node;
    bool is_open = false;  // one such call had no answer, so a refusal of another proves nothing
  };

  Inventory::Nodes nodes_;                                // by name
  std::map<std::string, Pod> pods_;                       // by uid
  std::map<std::string, std::set<std::string>> pods_on_;  // uids, by node
  std::map<std::string, Assumed> assumed_;                // bindings, by uid of the pod
  Residents residents_;
  Budgets budgets_;
  std::map<std::string, std::int64_t> tickets_;  // by namespace, of those that are named
};

}  // namespace fairlead
