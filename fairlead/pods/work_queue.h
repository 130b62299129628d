// Gangs and nodes that may need something: the work of the controller's next pass (gang_controller.h).
//
// It is a queue of subjects, not of changes, as client-go's workqueue is: a part that changes a fact adds the
// gangs and nodes that depend on it, and the pass looks at each of them once, as it is by then.
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
    bool starting = false;  // wait for their GPUs
    bool kept = false;      // have a place that they are to leave
  };

  void add_gang(const std::string& key) { gangs_.insert(key); }
  void add_node(const std::string& name) { nodes_.insert(name); }
  // Adds every gang: the nodes have changed.
  void add_all() { groups_.all = true; }
  // Adds the gangs that wait for their GPUs: a pod has left some.
  void add_starting() { groups_.starting = true; }
  // Adds the gangs that are to leave their place: what kept them there may have changed.
  void add_kept() { groups_.kept = true; }

  // Each returns what was added since its last call.
  std::set<std::string> take_gangs() { return std::exchange(gangs_, {}); }
  std::set<std::string> take_nodes() { return std::exchange(nodes_, {}); }
  Groups take_groups() { return std::exchange(groups_, {}); }

 private:
  std::set<std::string> gangs_;  // keys
  std::set<std::string> nodes_;  // names
  Groups groups_;
};

}  // namespace fairlead
