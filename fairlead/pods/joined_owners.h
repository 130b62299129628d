// Owners with pods that another object below them describes: a TrainJob has the pods of its JobSet.
//
// Such an owner is handled with that object in its field kBelow, where its kind finds the sets of pods (pods/kinds.h).
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/kinds.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace fairlead {

class JoinedOwners {
 public:
  struct Joined {
    const OwnerKind* kind;
    ReflectedChange change;  // the owner's, with the object below it if that is known
  };
  // Returns the owner that changes with an object of that kind; nothing: none needs another object. An object below stays
  // known after its deletion, until its owner is deleted.
  std::optional<Joined> join(const OwnerKind& kind, const ReflectedChange& change);

 private:
  struct Entry {
    const OwnerKind* kind = nullptr;  // null: the owner is not known yet
    ReflectedChange change{};         // the last one of the owner
    std::shared_ptr<const Json> below{};
  };
  std::map<std::string, Entry> entries_;  // by the owner's uid
};

}  // namespace fairlead
