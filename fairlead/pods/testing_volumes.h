// Volumes, claims and storage classes on a fake cluster, for tests.
#pragma once

#include "fairlead/kube/fake_server.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fairlead {

// `topologies`: the value of allowedTopologies.
inline void add_class(FakeServer& server, const std::string& name, bool waits,
                      const std::string& provisioner = "disks.example",
                      const Json& topologies = Json()) {
  Json object = {{"metadata", {{"name", name}}},
                 {"provisioner", provisioner},
                 {"volumeBindingMode", waits ? "WaitForFirstConsumer" : "Immediate"}};
  if (!topologies.is_null()) object["allowedTopologies"] = topologies;
  server.act("POST", kClasses, object);
}

inline Json claim_spec(const std::string& storage_class, const std::string& mode) {
  return {{"storageClassName", storage_class},
          {"accessModes", Json::array({mode})},
          {"resources", {{"requests", {{"storage", "10Gi"}}}}}};
}

inline void add_claim(FakeServer& server, const std::string& name_space, const std::string& name,
                      const std::string& storage_class, const std::string& mode = "ReadWriteOnce") {
  server.act("POST", "/api/v1/namespaces/" + name_space + "/persistentvolumeclaims",
             {{"metadata", {{"name", name}}}, {"spec", claim_spec(storage_class, mode)}});
}

inline Json term_of(const std::string& key, const std::string& value) {
  return {{"matchExpressions",
           Json::array({{{"key", key}, {"operator", "In"}, {"values", Json::array({value})}}})}};
}

// A free volume that only the node reaches.
inline void add_local_volume(FakeServer& server, const std::string& name, const std::string& node,
                             const std::string& storage_class = "local") {
  const Json terms = Json::array({term_of("kubernetes.io/hostname", node)});
  const std::string path = "/api/v1/persistentvolumes";
  server.act("POST", path,
             {{"metadata", {{"name", name}}},
              {"spec",
               {{"storageClassName", storage_class},
                {"accessModes", Json::array({"ReadWriteOnce", "ReadWriteOncePod"})},
                {"capacity", {{"storage", "20Gi"}}},
                {"nodeAffinity", {{"required", {{"nodeSelectorTerms", terms}}}}}}},
              {"status", {{"phase", "Available"}}}});
}

// Further fields of a pod's spec: it uses the claim.
inline Json with_claim(const std::string& claim) {
  return {{"volumes",
           Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", claim}}}}})}};
}

// The same with a claim of its own.
inline Json with_ephemeral(const std::string& storage_class) {
  const Json made = {{"spec", claim_spec(storage_class, "ReadWriteOnce")}};
  return {{"volumes",
           Json::array({{{"name", "scratch"}, {"ephemeral", {{"volumeClaimTemplate", made}}}}})}};
}

}  // namespace fairlead
