// Persistent volumes, claims and storage classes: the nodes that a pod may be on because of its volumes, and the requests
// before it may be bound to one of them, by the rules of kube-scheduler's plugin VolumeBinding.
//
//   a bound claim          the nodes of its volume's node affinity, and of its zone and region labels
//   an unbound claim       of a class with WaitForFirstConsumer: a node on which a free volume suits it, or on which the
//                          class may make one (`allowedTopologies`, and CSIStorageCapacity if its driver reports
//                          capacities), and after a choice that node alone.
//                          Any other keeps the pod from all nodes until it is bound
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/claims.h"
#include "fairlead/pods/node_rules.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// A request for the volume of a claim.
struct VolumeRequest {
  KubeName claim;
  std::string claim_uid;
  std::string volume;   // a free volume that the claim gets; empty: one that is made for the node
  std::string version;  // of the volume, or else of the claim
  std::string node;
};

// The free volumes that the claims of some pods would get.
struct VolumeChoices {
  std::set<std::string> taken{};         // names
  std::map<KubeName, std::string> of{};  // by claim; pods may share one
};

class Volumes {
 public:
  void on_claim(const ReflectedChange& change);
  void on_volume(const ReflectedChange& change);
  void on_class(const ReflectedChange& change);
  void on_driver(const ReflectedChange& change);    // CSIDriver
  void on_capacity(const ReflectedChange& change);  // CSIStorageCapacity
  // Called with the object of an answer to the request. Ignores it if a later state is known.
  void take_answer(const VolumeRequest& request, const Json& object);

  // A pod as a user of claims. `pod`: its uid; empty: it does not exist yet.
  struct User {
    const std::string& name_space;
    const std::string& pod;
    const std::vector<UsedClaim>& claims;
  };
  // Returns why the pod cannot be on any node now: "claim data does not exist"; empty: its node decides. O(claims).
  std::string objection(const User& user) const;
  // Returns the volume that the pod waits for: "claim data waits for its volume on node n3"; empty: none.
  std::string pending(const User& user) const;
  // Returns the claims of the pod whose volume still has to be requested before it may be bound to the node. Nothing: it
  // cannot be there. Adds the free volumes that it would get to `choices`. O(claims x free volumes).
  std::optional<std::vector<VolumeRequest>> needs(const User& user, const Node& node,
                                                  VolumeChoices& choices) const;
  // Returns true if one pod alone may use the claim (ReadWriteOncePod).
  bool is_of_one_pod(const std::string& name_space, const UsedClaim& claim) const;

 private:
  struct Volume {
    std::string version;
    ClaimAsks offers;
    NodeRules reach;  // nodes that can use it
    Labels labels;
    KubeName claim;  // that it is for; empty: for any
    std::string claim_uid;
  };
  struct Claim {
    std::string uid, version;
    ClaimAsks asks;
    std::string volume;  // empty: none yet
    bool is_bound = false;
    bool is_leaving = false;
    std::string node;  // on which its volume is made
    std::string pod;   // uid of the pod for which it was made
  };
  struct Class {
    bool waits = false;       // for a pod, before a volume is chosen
    bool makes_none = false;  // its volumes exist beforehand
    std::string provisioner;
    NodeRules topologies;
  };

  // The largest volume that a driver can make for nodes.
  struct Capacity {
    std::string storage_class;
    Amount most = 0;
    Json nodes;  // selector of their labels
  };

  void forget_volume(const std::string& name);
  std::string objection(const User& user, const UsedClaim& used) const;
  const Claim* find(const std::string& name_space, const std::string& name) const;
  const Class* class_of(const ClaimAsks& asks) const;
  // Each returns the name of a volume; null: there is none. The first one names the claim.
  const std::string* reserved(const KubeName& claim, const std::string& uid) const;
  const std::string* smallest(const ClaimAsks& asks, const Node& node,
                              const std::set<std::string>& taken) const;
  // Returns whether the node can have the volume that the claim has, or that is made for it; nothing: there is none yet.
  std::optional<bool> admits(const KubeName& name, const Claim& claim, const Node& node) const;
  // Returns whether a volume can be made for the node. O(capacities of all classes).
  bool can_make(const Class& storage, const ClaimAsks& asks, const Node& node) const;
  bool add_need(const User& user, const UsedClaim& used, const Node& node, VolumeChoices& choices,
                std::vector<VolumeRequest>& found) const;

  std::map<KubeName, Claim> claims_;
  std::map<std::string, Volume> volumes_;  // by name
  std::map<std::string, Class> classes_;   // by name
  std::set<std::string> reporting_;        // drivers that report capacities
  std::map<KubeName, Capacity> capacities_;
  // Names of volumes with a claim, and of free volumes by storage class.
  std::map<KubeName, std::set<std::string>> reserved_;
  std::map<std::string, std::set<std::string>> free_;
};

}  // namespace fairlead
