#include "fairlead/kube/fake_devices.h"

#include "fairlead/kube/fake_objects.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace fairlead {
namespace {

constexpr std::string_view kProtection = "resource.kubernetes.io/delete-protection";

bool is_reserved_for(const Json& claim, const Json& pod) {
  return item_at(claim, {"status", "reservedFor"}, "uid", uid_of(pod)).is_object();
}

}  // namespace

void serve_devices(FakeStore& store) {
  store.serve(std::string(kDeviceClasses), "DeviceClass");
  store.serve(std::string(kSlices), "ResourceSlice");
  store.serve(std::string(kDeviceClaims), "ResourceClaim");
  store.serve(std::string(kClaimTemplates), "ResourceClaimTemplate");
}

void FakeDevices::changed(const FakeChange& change) {
  if (change.key.resource != kPods || !change.after) return;
  const Json& pod = *change.after;
  if (json_at(pod, {"spec", "resourceClaims"}).empty()) return;
  if (!change.before)
    planner_.plan(planner_.delays().controller, [this, key = change.key] { make_claims(key); });
  if (is_over(pod))
    planner_.plan(planner_.delays().controller, [this, uid = uid_of(pod)] { collect(uid); });
}

void FakeDevices::make_claims(const FakeKey& key) {
  const FakeObject found = store_.find(key);
  if (!found) return;
  Json pod = *found;
  for (const Json& claim : json_at(*found, {"spec", "resourceClaims"})) {
    const std::string& name = text_at(claim, {"resourceClaimTemplateName"});
    if (name.empty()) continue;
    const FakeObject shape = store_.find({std::string(kClaimTemplates), key.name_space, name});
    if (!shape) {  // it may come
      planner_.plan(seconds(1), [this, key] { make_claims(key); });
      return;
    }
    const std::string made = fmt::format("{}-{}", key.name, text_at(claim, {"name"}));
    put({std::string(kDeviceClaims), key.name_space, made},
        {{"metadata",
          {{"ownerReferences", Json::array({{{"apiVersion", "v1"},
                                             {"kind", "Pod"},
                                             {"name", key.name},
                                             {"uid", uid_of(pod)},
                                             {"controller", true}}})}}},
         {"spec", json_at(*shape, {"spec", "spec"})}});
    pod["status"]["resourceClaimStatuses"].push_back(
        {{"name", text_at(claim, {"name"})}, {"resourceClaimName", made}});
  }
  put(key, pod);
}

void FakeDevices::collect(const std::string& pod_uid) {
  for (const FakeObject& claim : store_.list({std::string(kDeviceClaims), "", "", ""})) {
    const FakeKey key = key_of(kDeviceClaims, *claim);
    if (text_at(owner_of(*claim), {"uid"}) == pod_uid) {
      put(key, {});
    } else if (item_at(*claim, {"status", "reservedFor"}, "uid", pod_uid).is_object()) {
      Json free = *claim;
      free.erase("status");
      free["metadata"].erase("finalizers");
      put(key, free);
    }
  }
}

std::string FakeDevices::problem(const Json& pod) const {
  const auto& wanted = json_at(pod, {"spec", "resourceClaims"});
  if (wanted.empty()) return {};
  std::set<std::tuple<std::string, std::string, std::string>> here;
  for (const FakeObject& slice : store_.list({std::string(kSlices), "", "", ""})) {
    if (text_at(*slice, {"spec", "nodeName"}) != node_of(pod)) continue;
    for (const Json& device : json_at(*slice, {"spec", "devices"})) {
      here.emplace(text_at(*slice, {"spec", "driver"}), text_at(*slice, {"spec", "pool", "name"}),
                   text_at(device, {"name"}));
    }
  }
  std::size_t reserved = 0;
  std::set<std::tuple<std::string, std::string, std::string>> given;
  for (const FakeObject& claim : store_.list({std::string(kDeviceClaims), "", "", ""})) {
    const bool is_its = is_reserved_for(*claim, pod);
    reserved += is_its ? 1 : 0;
    const Json& allocation = json_at(*claim, {"status", "allocation", "devices", "results"});
    if (is_its && allocation.empty()) return "a claim without devices";
    for (const Json& result : allocation) {
      const std::tuple device(text_at(result, {"driver"}), text_at(result, {"pool"}),
                              text_at(result, {"device"}));
      if (!given.insert(device).second) return "a device was given twice";
      if (is_its && !here.contains(device)) return "a device of another node";
    }
    const auto& finalizers = json_at(*claim, {"metadata", "finalizers"});
    if (is_its && std::find(finalizers.begin(), finalizers.end(), kProtection) == finalizers.end())
      return "a claim without protection";
  }
  return reserved == wanted.size() ? "" : "a claim that is not reserved for the pod";
}

}  // namespace fairlead
