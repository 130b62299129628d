// The slot occupancy: the pods resident on each GPU of nodes with slots (pods/slots.h), and whether they run.
//
// A pod counts as running unless it is known to be frozen. After a call to run it, it may run, whatever
// the answer, until the server shows that the call can no longer take effect.
#pragma once

#include "fairlead/pods/members.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

class Residents {
 public:
  // Called with a pod as the API server shows it.
  void set(const Pod& pod);
  void remove(const std::string& uid);

  // Called when the pod is asked to run: bound to that node with those GPUs, or in place. The call has
  // the pod's version as its precondition.
  void asked(const std::string& uid, const std::string& node, std::uint64_t gpus);
  void refused(const std::string& uid) { asks_.erase(uid); }

  // Returns whether it uses no time of its GPUs, and no call on its way can change that.
  bool is_frozen(const std::string& uid) const;
  // Returns whether a call to run it may still take effect.
  bool may_be_thawed(const Pod& pod) const { return ask_of(pod) != nullptr; }
  // Returns the node's GPUs on which pods of gangs other than `but` run. O(pods of the node).
  std::uint64_t in_use(const std::string& node, const std::string& but) const;
  // Returns the GPUs among `gpus` that have at least `most` residents, not counting gang `but`. O(pods of
  // the node).
  std::uint64_t full(const std::string& node, std::uint64_t gpus, std::uint32_t most,
                     const std::string& but) const;
  // Returns the pods on one of `gpus`, or that may come there; valid until the next change. O(pods of the
  // node).
  std::vector<const Pod*> on(const std::string& node, std::uint64_t gpus) const;

 private:
  struct Ask {
    std::string version;
    std::string node;
    std::uint64_t gpus = 0;
  };

  // Returns the call for the pod that may still take effect; null: there is none.
  const Ask* ask_of(const Pod& pod) const;
  // Calls with each pod that is on the node or may come there, and its GPUs.
  void each_on(const std::string& node,
               const std::function<void(const Pod&, std::uint64_t)>& tell) const;

  std::map<std::string, Pod> pods_;                  // by uid
  std::map<std::string, std::set<std::string>> on_;  // uids of pods, by node
  std::map<std::string, Ask> asks_;                  // by uid of the pod
};

}  // namespace fairlead
