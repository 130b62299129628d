// The volumes of a fake cluster: the controller that binds claims, its provisioner, and the claims of ephemeral volumes.
//
// A claim is bound to a volume that names it. If its storage class binds at once, it is bound to any volume of the class, or
// to one that is made for it. Otherwise a provisioner makes one for its selected node, which that node alone reaches.
#pragma once

#include "fairlead/kube/fake_store.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace fairlead {

class FakeVolumes {
 public:
  // Calls of acts at a later time.
  struct Planner {
    std::function<void(std::function<void()>)> soon;       // after the delay of a controller
    std::function<void(std::function<void()>)> when_made;  // after the delay of a provisioner
    std::function<std::int64_t()> unix_ms;
  };
  // REQUIRES: the store outlives this.
  FakeVolumes(FakeStore& store, Planner planner) : store_(store), planner_(std::move(planner)) {}

  // Called after a write to the store.
  void changed(const FakeChange& change);
  // Removes the claims of a deleted pod, with the volumes that were made for them. Other volumes are free again.
  void collect(const std::string& owner_uid);
  // Returns why the node of a bound pod cannot mount its volumes; empty: it can.
  std::string problem(const Json& pod) const;

 private:
  void make_claim(const FakeKey& pod, const std::string& name, Json made);
  void bind_claims();
  void bind_claim(const FakeKey& key, const Json& claim);
  void provision(const FakeKey& key, const std::string& node, const std::string& storage);
  void join(const FakeKey& key, const Json& claim, const Json& volume);
  void put(const FakeKey& key, const Json& object) { store_.put(key, object, planner_.unix_ms()); }

  FakeStore& store_;
  Planner planner_;
  std::set<std::string> provisioned_;  // uids of claims for which a volume is made
};

}  // namespace fairlead
