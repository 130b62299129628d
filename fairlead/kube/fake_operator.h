// The script of an operator in a fake world: the pods, Jobs or other objects that each of its custom
// resources gets, and its status once they have all succeeded.
//
// A suspended or ended object has no running children. Otherwise the script's children are created,
// under their own names, and created again if they fail. Children are deleted together with their object.
#pragma once

#include "fairlead/kube/fake_path.h"
#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_store.h"
#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

struct FakeChild {
  std::string resource;  // "/api/v1/pods"
  std::string name;
  Json object;          // metadata and spec; the owner reference is added
  std::string after{};  // a child: this one is made once the pods of that one run or have succeeded
};

struct FakeOperator {
  std::string resource;  // "/apis/kubeflow.org/v1/pytorchjobs"; served from add_operator() on
  std::string kind;      // "PyTorchJob"
  std::vector<std::string> suspend = {"spec", "suspend"};
  std::function<std::vector<FakeChild>(const Json& object)> children;
  // Merged into its status at the end: {"conditions": [...]}.
  Json success = {{"conditions", {{{"type", "Succeeded"}, {"status", "True"}}}}};

  bool is_suspended(const Json& object) const;
  // Returns "apps/v1", in the form of owner references.
  std::string api_version() const;
};

// The operators of a fake cluster. They act on a FakeStore, at virtual times.
class FakeOperators {
 public:
  // REQUIRES: the arguments outlive this.
  FakeOperators(FakeStore& store, FakePlanner& planner) : store_(store), planner_(planner) {}

  // Serves the operator's resource, and acts as the operator.
  void add(FakeOperator played);
  // Plans the work on a changed object, and on the owner of a changed object.
  void changed(const FakeChange& change);
  std::vector<std::string> resources() const;

 private:
  void operate(const FakeKey& key);
  void rest(const FakeKey& key, const Json& child, bool is_to_rest);

  FakeStore& store_;
  FakePlanner& planner_;
  std::map<std::string, FakeOperator> operators_;  // by resource
};

// Returns the pod template of an operator's resource in tests, with GPUs and scheduled by Fairlead.
Json fake_template(std::int64_t gpus, Json annotations = Json::object());

}  // namespace fairlead
