// Which object made which: the pods of a JobSet's Jobs are the JobSet's.
#pragma once

#include "fairlead/kube/json.h"
#include "fairlead/pods/members.h"

#include <map>
#include <string>

namespace fairlead {

// The uid of the controller of an object, where that is of a known kind (pods/kinds.h), so that it,
// and not the object, owns the gang; else empty.
std::string known_parent(const Json& object);

class Lineage {
 public:
  // An object of a known kind that has such a parent. True if that is news.
  bool add(const std::string& uid, const std::string& parent) {
    return parents_.insert_or_assign(uid, parent).second;
  }
  bool remove(const std::string& uid) { return parents_.erase(uid) > 0; }
  // The last parent that is known, upwards from `uid`; itself where none is.
  const std::string& top(const std::string& uid) const;
  // What its gang goes by, in the order of docs/kubernetes.md: the group that it names, the top-most
  // known owner, another controller, itself.
  std::string gang_key(const Pod& pod) const;

 private:
  std::map<std::string, std::string> parents_;  // by uid
};

}  // namespace fairlead
