#include "fairlead/kube/fake_volumes.h"

#include "fairlead/kube/fake_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

bool is_bound(const Json& claim) {
  return !text_at(claim, {"metadata", "annotations", kBindCompleted}).empty();
}

// Returns true if the volume is for that claim.
bool is_for(const Json& volume, const FakeKey& claim) {
  const Json& reference = json_at(volume, {"spec", "claimRef"});
  return text_at(reference, {"name"}) == claim.name &&
         text_at(reference, {"namespace"}) == claim.name_space;
}

Json reference_to(const Json& claim) {
  return {{"kind", "PersistentVolumeClaim"},
          {"apiVersion", "v1"},
          {"namespace", text_at(claim, {"metadata", "namespace"})},
          {"name", text_at(claim, {"metadata", "name"})},
          {"uid", uid_of(claim)}};
}

// Returns true if the node affinity of the volume, of terms with `In` alone, admits the node.
bool reaches(const Json& volume, const Json& node) {
  const Json& terms = json_at(volume, {"spec", "nodeAffinity", "required", "nodeSelectorTerms"});
  if (!terms.is_array()) return true;
  return std::any_of(terms.begin(), terms.end(), [&](const Json& term) {
    const Json& rules = json_at(term, {"matchExpressions"});
    return std::all_of(rules.begin(), rules.end(), [&](const Json& rule) {
      const Json& values = json_at(rule, {"values"});
      const std::string& label = text_at(node, {"metadata", "labels", text_at(rule, {"key"})});
      return std::find(values.begin(), values.end(), Json(label)) != values.end();
    });
  });
}

// Calls `sink` with the claim of each volume of the pod.
template <class Sink>
void each_claim(const Json& pod, const Sink& sink) {
  for (const Json& volume : json_at(pod, {"spec", "volumes"})) {
    const std::string& name = text_at(volume, {"persistentVolumeClaim", "claimName"});
    if (!name.empty()) sink(name, Json());
    const Json& made = json_at(volume, {"ephemeral", "volumeClaimTemplate"});
    if (made.is_object())
      sink(text_at(pod, {"metadata", "name"}) + "-" + text_at(volume, {"name"}), made);
  }
}

}  // namespace

void FakeVolumes::changed(const FakeChange& change) {
  const std::string& resource = change.key.resource;
  if (resource == kPods && change.after && !change.before) {
    each_claim(*change.after, [&](const std::string& name, const Json& made) {
      if (!made.is_object()) return;
      planner_.plan(planner_.delays().controller,
                    [this, name, made, key = change.key] { make_claim(key, name, made); });
    });
  }
  if (resource == kClaims || resource == kVolumes || resource == kClasses) {
    planner_.plan(planner_.delays().controller, [this] { bind_claims(); });
  }
}

void FakeVolumes::make_claim(const FakeKey& pod, const std::string& name, Json made) {
  const FakeObject owner = store_.find(pod);
  const FakeKey key = {std::string(kClaims), pod.name_space, name};
  if (!owner || store_.find(key)) return;
  made["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                      {"kind", "Pod"},
                                                      {"name", pod.name},
                                                      {"uid", uid_of(*owner)},
                                                      {"controller", true}}});
  put(key, made);
}

void FakeVolumes::bind_claims() {
  for (const FakeObject& claim : store_.list({std::string(kClaims), "", "", ""})) {
    if (!is_bound(*claim) && !is_deleted(*claim)) bind_claim(key_of(kClaims, *claim), *claim);
  }
}

void FakeVolumes::bind_claim(const FakeKey& key, const Json& claim) {
  const std::vector<FakeObject> volumes = store_.list({std::string(kVolumes), "", "", ""});
  const auto its =
      std::ranges::find_if(volumes, [&](const FakeObject& volume) { return is_for(*volume, key); });
  if (its != volumes.end()) return join(key, claim, **its);
  const std::string& name = text_at(claim, {"spec", "storageClassName"});
  const FakeObject found = store_.find({std::string(kClasses), "", name});
  const Json& storage = found ? *found : Json();
  const bool waits = text_at(storage, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  const std::string& node = text_at(claim, {"metadata", "annotations", kSelectedNode});
  const auto free = std::ranges::find_if(volumes, [&](const FakeObject& volume) {
    return !json_at(*volume, {"spec"}).contains("claimRef") &&
           text_at(*volume, {"spec", "storageClassName"}) == name;
  });
  if (!waits && free != volumes.end()) return join(key, claim, **free);
  const std::string& provisioner = text_at(storage, {"provisioner"});
  if (provisioner.empty() || provisioner == "kubernetes.io/no-provisioner") return;
  if (waits && node.empty()) return;
  if (!provisioned_.insert(uid_of(claim)).second) return;
  planner_.plan(planner_.delays().provision,
                [this, key, node, name] { provision(key, node, name); });
}

// Makes a volume for the claim, which the node alone reaches; no node: all reach it.
void FakeVolumes::provision(const FakeKey& key, const std::string& node,
                            const std::string& storage) {
  const FakeObject claim = store_.find(key);
  if (!claim) return;
  Json spec = {{"storageClassName", storage},
               {"accessModes", json_at(*claim, {"spec", "accessModes"})},
               {"capacity", json_at(*claim, {"spec", "resources", "requests"})},
               {"claimRef", reference_to(*claim)}};
  if (!node.empty()) {
    const Json rule = {
        {"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", Json::array({node})}};
    spec["nodeAffinity"] = {
        {"required",
         {{"nodeSelectorTerms", Json::array({{{"matchExpressions", Json::array({rule})}}})}}}};
  }
  put({std::string(kVolumes), "", "pvc-" + uid_of(*claim)}, {{"spec", std::move(spec)}});
}

void FakeVolumes::join(const FakeKey& key, const Json& claim, const Json& volume) {
  Json taken = volume;
  taken["spec"]["claimRef"] = reference_to(claim);
  taken["status"] = {{"phase", "Bound"}};
  put(key_of(kVolumes, volume), taken);
  Json bound = claim;
  bound["spec"]["volumeName"] = text_at(volume, {"metadata", "name"});
  bound["metadata"]["annotations"][std::string(kBindCompleted)] = "yes";
  bound["status"] = {{"phase", "Bound"}};
  put(key, bound);
}

void FakeVolumes::collect(const std::string& owner_uid) {
  for (const FakeObject& claim : store_.list({std::string(kClaims), "", "", ""})) {
    if (text_at(owner_of(*claim), {"uid"}) != owner_uid) continue;
    const FakeKey its = {std::string(kVolumes), "", text_at(*claim, {"spec", "volumeName"})};
    if (const FakeObject volume = store_.find(its)) {
      Json free = *volume;
      free["spec"].erase("claimRef");
      free["status"] = {{"phase", "Available"}};
      put(its, provisioned_.contains(uid_of(*claim)) ? Json() : free);
    }
    put(key_of(kClaims, *claim), {});
  }
}

std::string FakeVolumes::problem(const Json& pod) const {
  const FakeObject node = store_.find({std::string(kNodes), "", node_of(pod)});
  std::string problem;
  each_claim(pod, [&](const std::string& name, const Json&) {
    const FakeObject claim =
        store_.find({std::string(kClaims), text_at(pod, {"metadata", "namespace"}), name});
    const FakeObject volume =
        claim && is_bound(*claim)
            ? store_.find({std::string(kVolumes), "", text_at(*claim, {"spec", "volumeName"})})
            : nullptr;
    if (!volume) {
      problem = fmt::format("claim {} is not bound", name);
    } else if (node && !reaches(*volume, *node)) {
      problem = fmt::format("node {} does not reach claim {}", node_of(pod), name);
    }
  });
  return problem;
}

}  // namespace fairlead
