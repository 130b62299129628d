// What an operator does with its custom resources in a fake world, by a script: which pods, Jobs or
// other objects each is to have, and what is said of it once they have all succeeded.
//
// An object that is suspended, or is over, has no children that are at work; else those of the script
// are made, under their own names, and made again where they failed. Children go with their object.
#pragma once

#include "fairlead/kube/fake_path.h"
#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct FakeChild {
  std::string resource;  // "/api/v1/pods"
  std::string name;
  Json object;  // metadata and spec; the owner reference is added
};

struct FakeOperator {
  std::string resource;  // "/apis/kubeflow.org/v1/pytorchjobs"; it is served with the operator
  std::string kind;      // "PyTorchJob"
  std::vector<std::string> suspend = {"spec", "suspend"};
  std::function<std::vector<FakeChild>(const Json& object)> children;
  // Merged into its status at the end: {"conditions": [...]}.
  Json success = {{"conditions", {{{"type", "Succeeded"}, {"status", "True"}}}}};

  bool is_suspended(const Json& object) const;
  // "apps/v1", as owner references have it.
  std::string api_version() const;
};

// A pod of a template, with GPUs and for Fairlead, as operators' resources in tests have it.
Json fake_template(std::int64_t gpus, Json annotations = Json::object());

}  // namespace fairlead
