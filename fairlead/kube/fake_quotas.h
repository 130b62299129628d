// Requests of pods, and the quotas of namespaces, which limit them.
//
// Cost: O(pods of the namespace).
#pragma once

#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_store.h"
#include "fairlead/kube/json.h"

#include <map>
#include <string>

namespace fairlead {

using FakeAmounts = std::map<std::string, double>;  // thousandths, by resource

// Returns the amount of "8", "500m" or "64Gi", in thousandths.
double quantity_of(const Json& value);
// Returns each resource's sum over the containers, or the largest request of an init container if that
// is more. There are no sidecars here.
FakeAmounts requests_of(const Json& pod);

class FakeQuotas {
 public:
  // REQUIRES: the arguments outlive this.
  FakeQuotas(FakeStore& store, const FakePlanner& planner) : store_(store), planner_(planner) {}

  // Returns whether a new pod would exceed a quota.
  bool exceeded_by(const std::string& name_space, const Json& pod) const;
  // Writes the use of a namespace into its quotas.
  void count(const std::string& name_space);

 private:
  // Returns the use of a namespace by pods that have not ended: "requests.cpu", "pods".
  FakeAmounts used(const std::string& name_space) const;

  FakeStore& store_;
  const FakePlanner& planner_;
};

}  // namespace fairlead
