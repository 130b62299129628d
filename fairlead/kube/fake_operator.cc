#include "fairlead/kube/fake_operator.h"

#include "fairlead/kube/fake_objects.h"
#include "fairlead/kube/fake_patch.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

// Returns whether an object of an operator has succeeded.
bool is_complete(const Json& object) {
  return has_condition(object, "Complete") || has_condition(object, "Completed") ||
         has_condition(object, "Succeeded");
}

bool is_done(const Json& child) { return phase_of(child) == "Succeeded" || is_complete(child); }

// Returns whether all pods of a Job run or have succeeded.
bool is_ready(const Json& job) {
  return is_complete(job) ||
         integer_at(job, {"status", "ready"}) >= integer_at(job, {"spec", "parallelism"}, 1);
}

}  // namespace

bool FakeOperator::is_suspended(const Json& object) const {
  const Json* at = &object;
  for (const std::string& key : suspend) at = &json_at(*at, {key});
  return at->is_boolean() && at->get<bool>();
}

std::string FakeOperator::api_version() const {
  const std::string version = resource.substr(0, resource.rfind('/'));
  return version.substr(version.find('/', 1) + 1);
}

Json fake_template(std::int64_t gpus, Json annotations) {
  Json resources = Json::object();
  if (gpus > 0) {
    const Json asked = {{"nvidia.com/gpu", fmt::to_string(gpus)}};
    resources = {{"requests", asked}, {"limits", asked}};
  }
  return {
      {"metadata", {{"annotations", std::move(annotations)}}},
      {"spec",
       {{"schedulerName", "fairlead"},
        {"restartPolicy", "Never"},
        {"containers", Json::array({{{"name", "c"}, {"image", "i"}, {"resources", resources}}})}}}};
}

void FakeOperators::add(FakeOperator played) {
  store_.serve(played.resource, played.kind);
  operators_[played.resource] = std::move(played);
}

std::vector<std::string> FakeOperators::resources() const {
  std::vector<std::string> all;
  all.reserve(operators_.size());
  for (const auto& [resource, played] : operators_) all.push_back(resource);
  return all;
}

void FakeOperators::changed(const FakeChange& change) {
  const Json& object = change.after ? *change.after : *change.before;
  const Json& owner = owner_of(object);
  for (const auto& [resource, played] : operators_) {
    const bool is_it = change.key.resource == resource;
    if (!is_it && text_at(owner, {"kind"}) != played.kind) continue;
    FakeKey key = change.key;
    if (!is_it) key = {resource, change.key.name_space, text_at(owner, {"name"})};
    planner_.plan(planner_.delays().controller, [this, key] { operate(key); });
  }
}

// Suspends a Job together with its owner. Other children are deleted, and so is a failed pod.
void FakeOperators::rest(const FakeKey& key, const Json& child, bool is_to_rest) {
  if (key.resource == kJobs) {
    Json job = child;
    job["spec"]["suspend"] = is_to_rest;
    store_.put(key, job, planner_.unix_ms());
  } else if ((is_to_rest || phase_of(child) == "Failed") && !is_deleted(child)) {
    store_.handle("DELETE", {key.resource, key.name_space, key.name, "", ""}, "", "",
                  planner_.unix_ms());
  }
}

void FakeOperators::operate(const FakeKey& key) {
  const FakeObject found = store_.find(key);
  if (!found) return;
  const FakeOperator& played = operators_.at(key.resource);
  const bool is_over =
      is_complete(*found) || json_at(*found, {"status"}).contains("jobDeploymentStatus");
  std::size_t done = 0;
  const std::vector<FakeChild> children = played.children(*found);
  for (const FakeChild& child : children) {
    const FakeKey place = {child.resource, key.name_space, child.name};
    const FakeObject there = store_.find(place);
    if (there && is_done(*there)) {
      ++done;
      continue;
    }
    const bool is_to_rest = is_over || played.is_suspended(*found);
    if (there) {
      rest(place, *there, is_to_rest);
      continue;
    }
    if (is_to_rest) continue;
    const FakeObject before = store_.find({child.resource, key.name_space, child.after});
    if (!child.after.empty() && (!before || !is_ready(*before))) continue;
    Json made = child.object;
    made["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", played.api_version()},
                                                        {"kind", played.kind},
                                                        {"name", key.name},
                                                        {"uid", uid_of(*found)},
                                                        {"controller", true}}});
    store_.put(place, made, planner_.unix_ms());
  }
  if (is_over || done < children.size()) return;
  Json ended = *store_.find(key);
  merge_patch(ended["status"], played.success);
  store_.put(key, ended, planner_.unix_ms());
}

}  // namespace fairlead
