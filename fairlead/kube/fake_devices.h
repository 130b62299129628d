// The devices of a fake cluster: the controller that makes the ResourceClaims of pods, and takes devices back once the
// pods have ended. Served once serve_devices() was called, because older servers do not have them.
#pragma once

#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_store.h"

#include <string>
#include <string_view>

namespace fairlead {

constexpr std::string_view kDeviceClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr std::string_view kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr std::string_view kDeviceClaims = "/apis/resource.k8s.io/v1/resourceclaims";
constexpr std::string_view kClaimTemplates = "/apis/resource.k8s.io/v1/resourceclaimtemplates";

// Makes the server serve them.
void serve_devices(FakeStore& store);

class FakeDevices {
 public:
  // REQUIRES: the arguments outlive this.
  FakeDevices(FakeStore& store, FakePlanner& planner) : store_(store), planner_(planner) {}

  // Called after a write to the store.
  void changed(const FakeChange& change);
  // Removes the claims that were made for a pod that has ended or is deleted, and takes the devices of its others back.
  void collect(const std::string& pod_uid);
  // Returns why the pod's node cannot prepare its devices; empty: it can.
  std::string problem(const Json& pod) const;

 private:
  void make_claims(const FakeKey& pod);
  void put(const FakeKey& key, const Json& object) { store_.put(key, object, planner_.unix_ms()); }

  FakeStore& store_;
  FakePlanner& planner_;
};

}  // namespace fairlead
