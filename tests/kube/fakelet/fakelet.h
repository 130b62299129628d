// A kubelet for nodes that do not exist, and the training that runs on them.
//
// A pod bound to one of its nodes runs at once, or fails if the node's GPUs are taken, as with a
// real kubelet. Once all pods of a gang run, the gang trains (training.h); when its work is done
// its pods succeed. A deleted pod writes a checkpoint, and goes. Time is compressed by a factor.
//
// Annotations of pods:   bed/gang      pods of its gang; all have the same controller
//                        bed/work-s    its work, in simulated seconds with all of the gang's GPUs on
//                                      the reference type; none: it runs until it is deleted
//                        fairlead.dev/model
// Annotations of nodes:  bed/down      it is silent as long as it has that, and not ready
//
// It may store the output of pods as kubelets do (agent/pod_output.h): the first pod of a gang that trains prints its
// steps, each second.
//
// Like a kubelet it is level-triggered: it writes the desired status of a pod until it sees it.
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"

#include "training.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace fairlead {

struct FakeletOptions {
  double factor = 1;             // simulated seconds that pass in one
  std::filesystem::path logs{};  // folder for the output of pods; empty: none is stored
};

class Fakelet {
 public:
  // `log`: writes an event, a JSON object a line (without its end). The arguments must outlive the
  // object.
  using Log = std::function<void(const std::string& line)>;
  Fakelet(KubeDoor& door, const TrainingWorld& world, FakeletOptions options, Log log);

  // Asks for the nodes of the cluster, ready.
  void make_nodes();
  // Handles all events up to `until`. Returns false once the program is asked to leave.
  bool run(Time until);

 private:
  struct FakePod {
    Pod pod;
    std::uint32_t gang_pods = 1;
    Duration work{};  // 0: none
    std::string model;
    std::string phase;  // its phase so far
    bool is_admitted = false;
    std::string wanted;  // phase; empty: none yet
    std::string reason;  // reason of that phase
    CallId call = 0;     // on its way
    Time retry = Time::never();
    int failures = 0;
  };
  struct Gang {
    std::string name;  // "namespace/pod's owner"
    std::optional<Training> training;
    std::set<std::string> running;  // uids
    bool is_done = false;
    std::int64_t printed = 0;  // steps
  };

  void take(const KubeEvent& event);
  void on_node(const ReflectedChange& change);
  void on_pod(const ReflectedChange& change);
  void see(FakePod& fake, const Json& object);
  void admit(FakePod& fake);
  void settle(FakePod& fake);
  void send(FakePod& fake, KubeRequest request);
  void answer(const KubeEvent& event);
  KubeRequest status_request(const FakePod& fake) const;
  void join(FakePod& fake);
  void leave(const FakePod& fake, bool saved);
  void finish_what_is_done();
  void print_steps();
  void print(const FakePod& fake, const std::string& line) const;
  void start(Gang& gang, const FakePod& any);
  std::uint32_t taken(const std::string& node) const;
  bool is_silent(const std::string& node) const { return silent_.contains(node); }
  Time simulated() const;
  Time deadline() const;
  void log(Json line);
  void log(const FakePod& fake, std::string_view what);

  KubeDoor& door_;
  const TrainingWorld& world_;
  FakeletOptions options_;
  Log log_;
  Reflector reflected_nodes_, reflected_pods_;
  std::map<std::string, NodeId> rows_;  // nodes by name
  std::set<std::string> silent_;
  std::map<std::string, FakePod> pods_;                   // by uid
  std::map<std::string, std::set<std::string>> pods_on_;  // uids of pods, by node
  std::map<std::string, Gang> gangs_;                     // by uid of the controller
  std::map<CallId, std::string> calls_;                   // uid of the pod
  std::map<CallId, KubeRequest> node_calls_;              // tried until they are taken
  Time print_at_ = Time::never();
  bool leaves_ = false;
};

}  // namespace fairlead
