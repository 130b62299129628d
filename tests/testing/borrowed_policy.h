// A policy owned by a test, so that the test can inspect it while a simulation runs it.
#pragma once

#include "fairlead/policy/placement_traits.h"
#include "fairlead/policy/policy.h"

#include <memory>

namespace fairlead {

class BorrowedPolicy : public Policy {
 public:
  // `policy` must outlive it.
  explicit BorrowedPolicy(Policy& policy) : policy_(policy) {
    if (const PlacementTraits* traits = policy.traits()) {
      set_traits(std::make_shared<const PlacementTraits>(*traits));
    }
  }

  std::string_view name() const override { return policy_.name(); }
  Needs needs() const override { return policy_.needs(); }
  void decide(const View& view, Plan& plan) override { policy_.decide(view, plan); }
  void fields(Archive& archive) override { policy_.fields(archive); }

 private:
  Policy& policy_;
};

}  // namespace fairlead
