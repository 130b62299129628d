// The objects of all kinds of owners that the API server has (pods/kinds.h).
//
// Discovery says which kinds it serves; those that it does not are asked for again from time to time,
// as their operator may be installed later, or be gone again, with all objects. A state machine like a
// Reflector: hand it every event, and wake it at wake_at().
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/kinds.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fairlead {

class WatchedKinds {
 public:
  using Sink = std::function<void(const OwnerKind&, const ReflectedChange&)>;

  // REQUIRES: the door outlives this. The sink must not call this.
  WatchedKinds(KubeDoor& door, Sink sink);
  ~WatchedKinds();

  // True if the event was its own.
  bool handle(const KubeEvent& event);
  void wake();
  Time wake_at() const;
  // It is known which kinds are served, and all of their objects are.
  bool is_synced() const;
  // Of all kinds that are served.
  bool is_fresh(Duration limit) const;
  // Of the kinds that are served.
  std::vector<const Reflector*> reflectors() const;
  // All objects that are there.
  void each(const std::function<void(const OwnerKind&, const Json&)>& sink) const;
  // Why something is not known; empty: nothing is in the way.
  std::string trouble() const;

 private:
  // Kinds of one group and version are asked for at once.
  struct Group {
    CallId call = 0;  // on its way
    Time ask_at{};
    int failures = 0;  // in a row
    std::string trouble;
    bool is_known = false;
    std::map<const OwnerKind*, std::unique_ptr<Reflector>> reflectors;  // of those that are served
  };

  bool is_settled(const Group& group) const;
  void take(const std::string& path, Group& group, const KubeEvent& event);
  void serve(Group& group, const OwnerKind& kind, bool is_served);

  KubeDoor& door_;
  Sink sink_;
  std::map<std::string, Group> groups_;  // by path
};

}  // namespace fairlead
