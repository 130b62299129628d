#include "fairlead/kube/fake_rules.h"

#include "fairlead/kube/fake_patch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <initializer_list>
#include <utility>

namespace fairlead {
namespace {

bool has_status(std::string_view resource) {
  return resource == kPods || resource == kNodes || resource == kJobs || resource == kBudgets;
}

Json without(Json object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) object.erase(std::string(key));
  return object;
}

}  // namespace

std::string broken_precondition(const Json& object, const Json& preconditions) {
  for (const std::string_view key : {"uid", "resourceVersion"}) {
    const std::string& asked = text_at(preconditions, {key});
    const std::string& has = text_at(object, {"metadata", key});
    if (!asked.empty() && asked != has) {
      return fmt::format("Precondition failed: {} in precondition: {}, in object meta: {}", key,
                         asked, has);
    }
  }
  return {};
}

void set_condition(Json& object, Json condition) {
  strategic_merge_patch(object,
                        {{"status", {{"conditions", Json::array({std::move(condition)})}}}});
}

void complete_pod(Json& pod) {
  Json& spec = pod["spec"];
  if (!spec.contains("schedulerName")) spec["schedulerName"] = "default-scheduler";
  if (!spec.contains("terminationGracePeriodSeconds")) spec["terminationGracePeriodSeconds"] = 30;
  pod["status"] = {{"phase", "Pending"}};
  if (!json_at(spec, {"schedulingGates"}).empty()) {
    set_condition(pod, {{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", "SchedulingGated"},
                        {"message", "Scheduling is blocked due to non-empty scheduling gates"}});
  }
}

void keep_part(Json& object, const Json& before, const FakePath& path) {
  if (path.sub == "status") {
    Json status = json_at(object, {"status"});
    Json metadata = json_at(object, {"metadata"});
    object = before;
    object["metadata"] = std::move(metadata);
    if (!status.is_null()) object["status"] = std::move(status);
  } else if (has_status(path.resource)) {
    object.erase("status");
    if (before.contains("status")) object["status"] = before["status"];
  }
}

void keep_identity(Json& object, const Json& before) {
  for (const std::string_view kept : {"kind", "apiVersion"}) object[kept] = before[kept];
  const Json& metadata = json_at(before, {"metadata"});
  for (const std::string_view kept :
       {"uid", "name", "namespace", "creationTimestamp", "generation"}) {
    if (metadata.contains(kept)) object["metadata"][kept] = metadata[kept];
  }
}

std::string_view forbidden_change(const FakeKey& key, const Json& before, const Json& after) {
  const Json& old_spec = json_at(before, {"spec"});
  const Json& spec = json_at(after, {"spec"});
  if (key.resource == kPods) {
    const std::initializer_list<std::string_view> kept = {"schedulingGates", "tolerations",
                                                          "activeDeadlineSeconds"};
    if (without(old_spec, kept) != without(spec, kept))
      return "pod updates may not change fields other than gates and tolerations";
    if (json_at(spec, {"schedulingGates"}).size() > json_at(old_spec, {"schedulingGates"}).size()) {
      return "only deletion of scheduling gates is allowed";
    }
  }
  const bool is_suspended = is_true_at(before, {"spec", "suspend"});
  if (key.resource == kJobs && !is_suspended &&
      json_at(old_spec, {"template"}) != json_at(spec, {"template"})) {
    return "the template of a Job that is not suspended is immutable";
  }
  return {};
}

bool budget_selects(const Json& budget, const Json& pod) {
  const Json& labels = json_at(budget, {"spec", "selector", "matchLabels"});
  if (!labels.is_object() || labels.empty())
    return json_at(budget, {"spec", "selector"}).is_object();
  for (const auto& [name, value] : labels.items()) {
    if (Json(text_at(pod, {"metadata", "labels", name})) != value) return false;
  }
  return true;
}

bool is_at_work(const Json& pod) {
  const std::string& phase = text_at(pod, {"status", "phase"});
  return !text_at(pod, {"spec", "nodeName"}).empty() && phase != "Failed" && phase != "Succeeded";
}

}  // namespace fairlead
