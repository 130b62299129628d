// The volumes of a fake cluster: the controller that binds claims, its provisioner, and the claims of ephemeral volumes.
//
// A claim is bound to a volume that names it. If its storage class binds at once, it is bound to any volume of the class, or
// to one that is made for it. Otherwise a provisioner makes one for its selected node, which that node alone reaches.
#pragma once

#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_store.h"

#include <set>
#include <string>

namespace fairlead {

class FakeVolumes {
 public:
  // REQUIRES: the arguments outlive this.
  FakeVolumes(FakeStore& store, FakePlanner& planner) : store_(store), planner_(planner) {}

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
  FakePlanner& planner_;
  std::set<std::string> provisioned_;  // uids of claims for which a volume is made
};

}  // namespace fairlead
