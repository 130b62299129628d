// What an agent does on its node: it offers the node's slots, and freezes and thaws the pods that take
// turns there in place, as the scheduler wishes (pods/slots.h).
//
// A state machine on the events of a KubeDoor, as Reflector is: hand it every event, and wake it at
// wake_at(). All of it follows from what the API server shows and from the cgroups themselves, so an
// agent that crashed is followed by one that goes on.
//
// No pod stays frozen without an owner. One is thawed
//
//   that is being deleted, so that its grace period is of use
//   that the API server does not know, or knows without the wish that it rest
//   whatever it is, once no scheduler was seen to renew its Lease for a minute, as where all of them
//     are gone, or the API server is; it is frozen again once one is back
//   by end(), which an agent that is asked to leave calls
#pragma once

#include "fairlead/agent/pod_freezer.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace fairlead {

struct AgentOptions {
  std::string node;
  std::uint32_t slots_per_gpu = 2;
  std::uint32_t gpus = 0;               // 0: as many as the node's device plugin counts
  std::string name_space = "fairlead";  // of the scheduler's Lease
  Duration unclaimed = seconds(60);     // from the last renewal that was seen
};

// Whether the pod is to be frozen.
bool is_to_rest(const Pod& pod, bool is_claimed);
// What its annotation kReport is to say, if it is in that state.
std::string report_of(const Pod& pod, bool is_claimed, PodState state);

class Agent {
 public:
  // `say`: what operators read, a line each. What is passed must outlive this.
  Agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
        std::function<void(const std::string&)> say);

  void handle(const KubeEvent& event);
  // To be called at wake_at() or later; before it does nothing. The first call begins.
  void wake();
  Time wake_at() const;
  // Thaws all pods, and says so to the API server. To be called last.
  void end();
  // Calls that were not answered yet.
  std::size_t open_calls() const { return calls_.size(); }

 private:
  struct Seen {
    Pod pod;
    CallId call = 0;  // its report, on its way
    Time retry;       // no report before
    int failures = 0;
  };

  void on_pod(const ReflectedChange& change);
  void on_node(const ReflectedChange& change);
  void offer_slots();
  void settle(Seen& seen);
  void freeze(const Seen& seen, bool is_frozen);
  void report(Seen& seen, const std::string& text);
  void look();
  void take_lease(const std::string& text);
  void take_report(Seen& seen, const KubeEvent& event);
  bool is_claimed() const { return door_.now() < claimed_ + options_.unclaimed; }

  KubeDoor& door_;
  PodFreezer& freezer_;
  const AgentOptions options_;
  std::function<void(const std::string&)> say_;
  Reflector reflected_pods_, reflected_node_;
  std::map<std::string, Seen> pods_;     // by uid
  std::map<CallId, std::string> calls_;  // uids of the pods they are about; empty: another
  CallId lease_call_ = 0;
  CallId slots_call_ = 0;
  std::string lease_;  // as it was last seen
  Time claimed_;       // when it was last seen to change
  bool was_claimed_ = true;
  Time look_at_;                   // at the Lease, and at all cgroups
  std::set<std::string> pending_;  // uids: to be looked at again soon, as they freeze
  Time settle_at_ = Time::never();
  bool has_ended_ = false;
};

// The agent of a node, until the program is asked to leave (kTerminate); then all pods of the node run.
void run_agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
               const std::function<void(const std::string&)>& say);

}  // namespace fairlead
