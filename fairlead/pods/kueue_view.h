// The state of Kueue's objects: which Workloads are gangs, on the nodes of which ClusterQueue.
//
// A Workload is a gang if it asks for GPUs, and its LocalQueue leads to a ClusterQueue with a quota of GPUs. Its pods
// fill the nodes of the queue in order; which of them have which pod means nothing.
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/workload.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class KueueView {
 public:
  // Receivers of changes. None may call the view.
  struct Sinks {
    std::function<void(Node)> node;
    std::function<void(const std::string& name)> no_node;
    std::function<void(Owner)> gang;
    std::function<void(const std::string& key)> no_gang;
    std::function<void(Pod)> pod;
    std::function<void(Pod)> no_pod;
  };
  // `queues`: names of the ClusterQueues that count; none: all.
  KueueView(std::vector<std::string> queues, Sinks sinks)
      : named_(queues.begin(), queues.end()), sinks_(std::move(sinks)) {}

  // Called with a change of an object of kueue_kinds(). O(Workloads) unless it is a Workload.
  void on(const OwnerKind& kind, const ReflectedChange& change);
  // Returns the gang of a Workload that is one; nothing for another.
  std::optional<Owner> gang_of(const Json& workload) const;

 private:
  struct Known {
    std::shared_ptr<const Json> object;
    bool is_gang = false;
    QuotaState state = QuotaState::kNone;
    std::vector<Pod> pods{};
  };

  void on_workload(const ReflectedChange& change);
  void set_nodes();
  void look_at_all();
  void look_at(Known& known);
  void leave(Known& known);
  std::string queue_of(const Json& workload) const;
  std::vector<Pod> place(const Owner& owner);
  void remove_pods(Known& known);

  const std::set<std::string> named_;
  const Sinks sinks_;
  std::map<std::string, std::string> products_;                // products of flavors, by name
  std::map<std::string, std::shared_ptr<const Json>> queues_;  // ClusterQueues, by name
  std::map<KubeName, std::string> local_queues_;               // the ClusterQueue of each
  std::map<std::string, std::vector<Node>> nodes_;             // nodes, by ClusterQueue
  std::map<std::string, std::uint32_t> taken_;                 // GPUs with pods, by node
  std::map<KubeName, Known> workloads_;
};

}  // namespace fairlead
