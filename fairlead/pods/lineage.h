// The owner graph: the pods of a JobSet's Jobs belong to the JobSet.
#pragma once

#include "fairlead/kube/json.h"
#include "fairlead/pods/members.h"

#include <map>
#include <string>

namespace fairlead {

// Returns the uid of an object's controller if that is of a known kind (pods/kinds.h); else empty. Then
// the controller, and not the object, owns the gang.
std::string known_parent(const Json& object);

class Lineage {
 public:
  // Adds an object of a known kind with such a parent. True if it is new.
  bool add(const std::string& uid, const std::string& parent) {
    return parents_.insert_or_assign(uid, parent).second;
  }
  bool remove(const std::string& uid) { return parents_.erase(uid) > 0; }
  // Returns the top-most known parent of `uid`, or `uid` itself if there is none.
  const std::string& top(const std::string& uid) const;
  // Returns the key of the pod's gang, in the order of docs/kubernetes.md: the group that the pod names,
  // its top-most known owner, another controller, the pod itself.
  std::string gang_key(const Pod& pod) const;

 private:
  std::map<std::string, std::string> parents_;  // by uid
};

}  // namespace fairlead
