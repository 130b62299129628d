// Which pods are resident on which GPUs of nodes with slots (pods/slots.h), and which of them run.
//
// A pod runs unless it is known to be frozen, and where it was asked to run it may, whatever was
// answered: until the server shows that the call can no longer take effect.
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
  // What the API server shows.
  void set(const Pod& pod);
  void remove(const std::string& uid);

  // The pod is asked to run: bound to that node, with those GPUs; or where it is. The call carries the
  // pod's version as its precondition.
  void asked(const std::string& uid, const std::string& node, std::uint64_t gpus);
  void refused(const std::string& uid) { asks_.erase(uid); }

  // It takes no time of its GPUs, and no call that is on its way changes that.
  bool is_frozen(const std::string& uid) const;
  // A call that it run may yet take effect.
  bool may_be_thawed(const Pod& pod) const { return ask_of(pod) != nullptr; }
  // GPUs of the node that run pods of other gangs than that. O(pods of the node).
  std::uint64_t in_use(const std::string& node, const std::string& but) const;
  // Those of `gpus` that have `most` residents or more, without those of that gang. The same.
  std::uint64_t full(const std::string& node, std::uint64_t gpus, std::uint32_t most,
                     const std::string& but) const;
  // The pods on one of `gpus`, or that may come there; valid until the next change. The same.
  std::vector<const Pod*> on(const std::string& node, std::uint64_t gpus) const;

 private:
  struct Ask {
    std::string version;
    std::string node;
    std::uint64_t gpus = 0;
  };

  // The call for the pod that may yet take effect; null: there is none.
  const Ask* ask_of(const Pod& pod) const;
  // Calls with each pod that is on the node or may come there, and its GPUs.
  void each_on(const std::string& node,
               const std::function<void(const Pod&, std::uint64_t)>& tell) const;

  std::map<std::string, Pod> pods_;                  // by uid
  std::map<std::string, std::set<std::string>> on_;  // of a node: uids
  std::map<std::string, Ask> asks_;                  // by uid of the pod
};

}  // namespace fairlead
