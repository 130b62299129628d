// Gangs and nodes that may need a change: the work of the controller's next pass (gang_controller.h).
//
// Like client-go's workqueue, it is a queue of objects, not of changes. A part that changes a fact adds the
// gangs and nodes that depend on it, and the pass looks at each of them once, in its state at that time.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace fairlead {

class WorkQueue {
 public:
  // Gangs by a state that only the pass knows.
  struct Groups {
    bool all = false;
    bool starting = false;   // wait for their GPUs
    bool kept = false;       // still have a place that they must leave
    bool suspended = false;  // wait without pods
    bool claims = false;     // use persistent volume claims
  };

  void add_gang(const std::string& key) { gangs_.insert(key); }
  void add_node(const std::string& name) { nodes_.insert(name); }
  // Adds every gang. Called after the nodes changed.
  void add_all() { groups_.all = true; }
  // Adds the gangs that wait for their GPUs. Called after a pod left GPUs.
  void add_starting() { groups_.starting = true; }
  // Adds the gangs that must leave their place. Called after a change of the reasons that kept them there.
  void add_kept() { groups_.kept = true; }
  // Adds the gangs that wait without pods. Called after a change of a quota.
  void add_suspended() { groups_.suspended = true; }

  // Adds the gangs that use claims. Called after a change of claims, volumes, storage classes, or pods that use claims.
  void add_claims() { groups_.claims = true; }

  // Each returns the entries added since its last call.
  std::set<std::string> take_gangs() { return std::exchange(gangs_, {}); }
  std::set<std::string> take_nodes() { return std::exchange(nodes_, {}); }
  Groups take_groups() { return std::exchange(groups_, {}); }

 private:
  std::set<std::string> gangs_;  // keys
  std::set<std::string> nodes_;  // names
  Groups groups_;
};

}  // namespace fairlead
