// The agent of a node. It measures the speeds of pods from their output, and reports them (pods/pod_progress.h). It may
// also advertise slots; then it freezes and thaws the pods that take turns there in place, when the scheduler asks
// (pods/slots.h).
//
// A state machine on the events of a KubeDoor, like Reflector: hand it every event, and wake it at wake_at(). Its whole
// state follows from the API server and from the cgroups, so another agent can continue after a crash.
//
// No pod stays frozen without an owner. A pod is thawed
//
//   if it is being deleted, so that it can use its grace period
//   if the API server does not know it, or its annotations no longer ask for the freeze
//   in any case, if no scheduler renewed its Lease for a minute, for example because all of them or
//     the API server are gone; it is frozen again once one is back
//   by end(), which an agent that is asked to leave calls
#pragma once

#include "fairlead/agent/pod_freezer.h"
#include "fairlead/agent/pod_meters.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace fairlead {

struct AgentOptions {
  std::string node;
  std::uint32_t slots_per_gpu = 0;      // 0: the node has no slots, and no pod is frozen
  std::uint32_t gpus = 0;               // 0: as many as the node's device plugin counts
  std::string name_space = "fairlead";  // namespace of the scheduler's Lease
  Duration unclaimed = seconds(60);     // since the last renewal that was seen
  std::filesystem::path logs{};         // the output of pods (pod_meters.h); empty: not read
};

// At most one report of progress per pod in this time (chosen).
constexpr Duration kProgressPause = seconds(60);
// A speed that does not change is reported again after this time, for the progress beside it (chosen).
constexpr Duration kProgressAge = seconds(600);

// Returns whether the pod should be frozen.
bool is_to_rest(const Pod& pod, bool is_claimed);
// Returns the value for its annotation kReport if the pod is in that state.
std::string report_of(const Pod& pod, bool is_claimed, PodState state);

class Agent {
 public:
  // The last argument receives each line for operators. The arguments must outlive the agent.
  Agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
        std::function<void(const std::string&)> say);

  void handle(const KubeEvent& event);
  // Call it at wake_at() or later; earlier calls do nothing. The first call starts the agent.
  void wake();
  Time wake_at() const;
  // Thaws all pods, and reports that to the API server. Call it last.
  void end();
  // Returns the number of calls without an answer yet.
  std::size_t open_calls() const { return calls_.size(); }

 private:
  struct Seen {
    Pod pod;
    CallId call = 0;  // its report, on its way
    Time retry;       // no report before
    int failures = 0;
    // The time of its last report of progress, or of the first look at one of an earlier agent.
    Time progress_told{};
  };

  void on_pod(const ReflectedChange& change);
  void on_node(const ReflectedChange& change);
  void offer_slots();
  void settle(Seen& seen);
  void freeze(const Seen& seen, bool is_frozen);
  void report(Seen& seen, const std::string& text);
  void send(Seen& seen, std::string_view annotation, const std::string& text);
  void measure();
  void report_progress(Seen& seen);
  bool takes_turns() const { return options_.slots_per_gpu > 0; }
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
  std::map<CallId, std::string> calls_;  // uids of their pods; empty: another call
  CallId lease_call_ = 0;
  CallId slots_call_ = 0;
  std::string lease_;  // as it was last seen
  Time claimed_;       // when it was last seen to change
  bool was_claimed_ = true;
  Time look_at_;  // next look at the Lease, and at all cgroups
  std::optional<PodMeters> meters_;
  Time measure_at_ = Time::never();
  std::set<std::string> pending_;  // uids of freezing pods, to be looked at again soon
  Time settle_at_ = Time::never();
  bool has_ended_ = false;
};

// Runs the agent of a node until the program is asked to leave (kTerminate); then all pods of the node run.
void run_agent(KubeDoor& door, PodFreezer& freezer, AgentOptions options,
               const std::function<void(const std::string&)>& say);

}  // namespace fairlead
