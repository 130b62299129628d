#include "fairlead/pods/requests.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

std::string path_of(const Pod& pod, std::string_view part) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", pod.name_space, pod.name, part);
}

Json wish(const Pod& pod, bool runs) {
  return {{"annotations", {{std::string(kWish), wish_text(runs, pod.version)}}},
          {"resourceVersion", pod.version}};
}

// Sets a condition of the pod's status.
KubeRequest condition_of(const Pod& pod, const Json& condition) {
  const Json patch = {{"metadata", {{"uid", pod.uid}}},
                      {"status", {{"conditions", Json::array({condition})}}}};
  return {.method = "PATCH",
          .path = path_of(pod, "/status"),
          .body = compact_text(patch),
          .content_type = std::string(kStrategicMergePatch)};
}

}  // namespace

KubeRequest binding(const Pod& pod, const std::string& node, std::uint64_t gpus) {
  Json metadata = Json::object();
  if (gpus != 0) {
    metadata = wish(pod, true);
    metadata["annotations"][std::string(kGpusOf)] = gpus_text(gpus);
  }
  metadata["name"] = pod.name;
  metadata["namespace"] = pod.name_space;
  metadata["uid"] = pod.uid;
  const Json body = {{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", std::move(metadata)},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  return {.method = "POST", .path = path_of(pod, "/binding"), .body = compact_text(body)};
}

KubeRequest volume_request(const VolumeRequest& request) {
  Json metadata = {{"resourceVersion", request.version}};
  if (request.volume.empty()) {
    metadata["annotations"][std::string(kSelectedNode)] = request.node;
    return {.method = "PATCH",
            .path = fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}",
                                request.claim.first, request.claim.second),
            .body = compact_text({{"metadata", metadata}}),
            .content_type = std::string(kMergePatch)};
  }
  // The server's controller takes the binding back, instead of deleting the volume, if the claim goes.
  metadata["annotations"]["pv.kubernetes.io/bound-by-controller"] = "yes";
  const Json reference = {{"kind", "PersistentVolumeClaim"},
                          {"apiVersion", "v1"},
                          {"namespace", request.claim.first},
                          {"name", request.claim.second},
                          {"uid", request.claim_uid}};
  return {.method = "PATCH",
          .path = fmt::format("/api/v1/persistentvolumes/{}", request.volume),
          .body = compact_text({{"metadata", metadata}, {"spec", {{"claimRef", reference}}}}),
          .content_type = std::string(kMergePatch)};
}

KubeRequest device_request(const DeviceRequest& request) {
  std::string path = fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}",
                                 request.claim.first, request.claim.second);
  Json body = {{"metadata", {{"resourceVersion", request.version}}}};
  if (request.kind == DeviceRequest::Kind::kProtect) {
    body["metadata"]["finalizers"] = request.finalizers;
  } else {
    path += "/status";
    Json& status = body["status"];
    status = {{"allocation", nullptr}, {"reservedFor", nullptr}};
    if (request.kind == DeviceRequest::Kind::kAllocate) {
      Json results = Json::array();
      for (const auto& [name, device] : request.results) {
        results.push_back({{"request", name},
                           {"driver", device.driver},
                           {"pool", device.pool},
                           {"device", device.name}});
      }
      const Json is_node = {
          {"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({request.node})}};
      const Json term = {{"matchFields", Json::array({is_node})}};
      status["allocation"] = {{"devices", {{"results", std::move(results)}}},
                              {"nodeSelector", {{"nodeSelectorTerms", Json::array({term})}}}};
      status["reservedFor"] =
          Json::array({{{"resource", "pods"}, {"name", request.pod}, {"uid", request.pod_uid}}});
    }
  }
  return {.method = "PATCH",
          .path = std::move(path),
          .body = compact_text(body),
          .content_type = std::string(kMergePatch)};
}

KubeRequest turn(const Pod& pod, bool runs) {
  return {.method = "PATCH",
          .path = path_of(pod, ""),
          .body = compact_text({{"metadata", wish(pod, runs)}}),
          .content_type = std::string(kMergePatch)};
}

KubeRequest suspension(const Owner& owner, bool suspends) {
  const Json mark = suspends ? Json(kSchedulerName) : Json();
  Json patch = {
      {"metadata",
       {{"resourceVersion", owner.version}, {"annotations", {{std::string(kSuspendedBy), mark}}}}}};
  Json* at = &patch;
  for (const std::string_view key : owner.kind->suspend) at = &(*at)[std::string(key)];
  *at = suspends != owner.kind->is_of_kueue;
  return {.method = "PATCH",
          .path = owner.kind->path_of(owner.name_space, owner.path_name()),
          .body = compact_text(patch),
          .content_type = std::string(kMergePatch)};
}

KubeRequest preemption_mark(const Pod& pod, std::int64_t unix_ms) {
  return condition_of(pod, {{"type", "DisruptionTarget"},
                            {"status", "True"},
                            {"reason", kPreemptionReason},
                            {"message", "fairlead: its turn is over"},
                            {"lastTransitionTime", timestamp(unix_ms)}});
}

KubeRequest unschedulable(const Pod& pod, const std::string& why, std::int64_t unix_ms) {
  return condition_of(pod, {{"type", "PodScheduled"},
                            {"status", "False"},
                            {"reason", "Unschedulable"},
                            {"message", why},
                            {"lastTransitionTime", timestamp(unix_ms)}});
}

KubeRequest eviction(const Pod& pod) {
  const Json body = {{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", {{"name", pod.name}, {"namespace", pod.name_space}}},
                     {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
  return {.method = "POST", .path = path_of(pod, "/eviction"), .body = compact_text(body)};
}

}  // namespace fairlead
