// The state of the API server's objects, kept up to date: the view of nodes and pods, and the gangs of the pods.
//
// Data flows one way: watches and answers to calls change the view, and the view changes the gangs. Both add the gangs
// and nodes that need another look to the work queue. Nothing here depends on the engine's decisions.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/cluster_watch.h"
#include "fairlead/pods/event_recorder.h"
#include "fairlead/pods/gang_book.h"
#include "fairlead/pods/gang_calls.h"
#include "fairlead/pods/joined_owners.h"
#include "fairlead/pods/kueue_view.h"
#include "fairlead/pods/resting_nodes.h"

#include <cstdint>
#include <map>
#include <string>

namespace fairlead {

class ObservedCluster {
 public:
  // Parts that the observed state updates. REQUIRES: they outlive this.
  struct Followers {
    EngineCluster& engine_cluster;
    Refusals& refusals;
    RestingNodes& resting;
    WorkQueue& queue;
  };
  // REQUIRES: the door and the recorder outlive this.
  ObservedCluster(KubeDoor& door, const PodsOptions& options, EventRecorder& recorder,
                  const Followers& followers);

  ClusterWatch& watch() { return watch_; }
  const ClusterWatch& watch() const { return watch_; }
  ClusterView& view() { return view_; }
  const ClusterView& view() const { return view_; }
  GangBook& gangs() { return gangs_; }
  const GangBook& gangs() const { return gangs_; }

  // Called with the answer to a call, which has the object's state a little sooner than the watch. Ignores an object if
  // the watch has already shown a later state.
  void take_answer(const GangCalls::Answer& answer);

 private:
  Reflector::Sink volume_sink(void (Volumes::*take)(const ReflectedChange&));
  KueueView::Sinks kueue_sinks();
  void on_device(const OwnerKind& kind, const ReflectedChange& change);
  void on_node(const ReflectedChange& change);
  Node with_claimable(Node node);
  Pod read_pod(const ReflectedChange& change);
  void set_node(Node node);
  void remove_node(const std::string& name);
  void on_owner(const OwnerKind& kind, const ReflectedChange& change);
  void on_settings(const ReflectedChange& change);
  void set_pod(Pod pod);
  void remove_pod(Pod pod);
  void take_pod_answer(const GangCalls::Answer& answer, Pod pod);
  void end_rest(const std::string& node);

  // A pod that claims GPUs, or the owner of such pods. It is read again if its claims are known better.
  struct Claimant {
    const OwnerKind* kind = nullptr;  // null: a pod
    ReflectedChange change;
  };

  void read_claimant(const std::string& uid, const Claimant& claimant);

  KubeDoor& door_;
  EventRecorder& recorder_;
  const Followers followers_;
  ClusterView view_;
  std::map<std::string, Claimant> claimants_;       // by uid
  std::map<std::string, std::uint32_t> claimable_;  // GPUs that pods can claim, by node
  GangBook gangs_;
  JoinedOwners joined_owners_;
  KueueView kueue_;
  ClusterWatch watch_;
};

}  // namespace fairlead
