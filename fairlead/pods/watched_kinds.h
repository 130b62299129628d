// The objects of kinds that the API server may have: owners, and PodGroups (pods/kinds.h).
//
// Discovery lists the kinds that the server has. Missing kinds are looked up again from time to time,
// because their operator may be installed later, or removed with all objects. A state machine like a
// Reflector: hand it every event, and wake it at wake_at().
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/kinds.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

class WatchedKinds {
 public:
  using Sink = std::function<void(const OwnerKind&, const ReflectedChange&)>;

  // REQUIRES: the door and the kinds outlive this. The sink must not call this.
  WatchedKinds(KubeDoor& door, std::span<const OwnerKind> kinds, Sink sink);
  ~WatchedKinds();

  // Returns true if the event was its own.
  bool handle(const KubeEvent& event);
  void wake();
  Time wake_at() const;
  // Returns whether the served kinds and all of their objects are known.
  bool is_synced() const;
  // Returns whether the objects of all served kinds are fresh.
  bool is_fresh(Duration limit) const;
  // Returns the reflectors of the served kinds.
  std::vector<const Reflector*> reflectors() const;
  // Calls `sink` with all objects.
  void each(
      const std::function<void(const OwnerKind&, const std::shared_ptr<const Json>&)>& sink) const;
  // Returns why objects are not known; empty: there is no problem.
  std::string trouble() const;

 private:
  // Kinds of one group and version, which one call of discovery lists.
  struct Group {
    CallId call = 0;  // the call on its way
    Time ask_at{};
    int failures = 0;  // in a row
    std::string trouble;
    bool is_known = false;
    std::map<const OwnerKind*, std::unique_ptr<Reflector>> reflectors;  // those of served kinds
  };

  bool is_settled(const Group& group) const;
  void take(const std::string& path, Group& group, const KubeEvent& event);
  void serve(Group& group, const OwnerKind& kind, bool is_served);

  KubeDoor& door_;
  const std::span<const OwnerKind> kinds_;
  Sink sink_;
  std::map<std::string, Group> groups_;  // by path
};

}  // namespace fairlead
