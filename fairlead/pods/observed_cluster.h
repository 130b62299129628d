// What the API server shows, followed as it changes: the view of nodes and pods, and the gangs that pods make.
//
// Data flows one way: watches and answers to calls change the view, the view the gangs, and both name in the work
// queue what has to be looked at. Nothing here depends on what the engine wants.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/cluster_watch.h"
#include "fairlead/pods/event_recorder.h"
#include "fairlead/pods/gang_book.h"
#include "fairlead/pods/gang_calls.h"
#include "fairlead/pods/resting_nodes.h"

#include <string>

namespace fairlead {

class ObservedCluster {
 public:
  // Parts that follow from what is observed. They must outlive this.
  struct Followers {
    EngineCluster& engine_cluster;
    Refusals& refusals;
    RestingNodes& resting;
    WorkQueue& queue;
  };
  // `name_space`: that of the ConfigMap `fairlead`. What is passed must outlive this.
  ObservedCluster(KubeDoor& door, const std::string& name_space, EventRecorder& recorder,
                  const Followers& followers);

  ClusterWatch& watch() { return watch_; }
  const ClusterWatch& watch() const { return watch_; }
  ClusterView& view() { return view_; }
  const ClusterView& view() const { return view_; }
  GangBook& gangs() { return gangs_; }
  const GangBook& gangs() const { return gangs_; }

  // Called with the answer to a call, which shows its object a little sooner than the watch does. Ignores an object of
  // which the watch has shown a later state.
  void take_answer(const GangCalls::Answer& answer);

 private:
  void on_node(const ReflectedChange& change);
  void on_owner(const OwnerKind& kind, const ReflectedChange& change);
  void on_settings(const ReflectedChange& change);
  void set_pod(Pod pod);
  void remove_pod(Pod pod);
  void take_pod_answer(const GangCalls::Answer& answer, Pod pod);
  void end_rest(const std::string& node);

  KubeDoor& door_;
  EventRecorder& recorder_;
  const Followers followers_;
  ClusterView view_;
  GangBook gangs_;
  ClusterWatch watch_;
};

}  // namespace fairlead
