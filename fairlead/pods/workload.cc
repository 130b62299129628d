#include "fairlead/pods/workload.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/pod_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

OwnerKind kueue_kind(std::string_view kind, std::string_view plural, KeyPath suspend = {}) {
  return {.api_version = "kueue.x-k8s.io/v1beta1",
          .kind = kind,
          .plural = plural,
          .suspend = std::move(suspend),
          .is_of_kueue = true,
          .sets = {}};
}

std::vector<OwnerKind> make_kueue_kinds() {
  return {kueue_kind(kWorkload, "workloads", {"spec", "active"}),
          kueue_kind(kClusterQueue, "clusterqueues"), kueue_kind(kLocalQueue, "localqueues"),
          kueue_kind(kResourceFlavor, "resourceflavors")};
}

const Json& condition(const Json& workload, std::string_view type) {
  return item_at(workload, {"status", "conditions"}, "type", type);
}
bool is_true(const Json& condition) { return text_at(condition, {"status"}) == "True"; }

// Returns the template of its first pods with GPUs; null: it has none.
const Json& template_of(const Json& workload) {
  static const Json kNone;
  for (const Json& set : json_at(workload, {"spec", "podSets"})) {
    const Json& shape = json_at(set, {"template"});
    if (gpus_of_spec(json_at(shape, {"spec"})) > 0) return shape;
  }
  return kNone;
}

// Returns the annotation of the Workload, or else of its pods. Kueue does not copy annotations of the job.
const std::string& said(const Json& workload, std::string_view name) {
  const std::string& text = text_at(workload, {"metadata", "annotations", name});
  return text.empty() ? text_at(template_of(workload), {"metadata", "annotations", name}) : text;
}

void set_end(const Json& workload, Owner& owner) {
  const Json& finished = condition(workload, "Finished");
  if (!is_true(finished)) return;
  const bool is_failed = text_at(finished, {"reason"}) == "Failed";
  owner.state = is_failed ? Owner::State::kFailed : Owner::State::kFinished;
  if (is_failed) owner.reason = text_at(finished, {"message"});
}

// Returns why Kueue has it wait; empty: not known.
std::string pending_text(const Json& workload) {
  const Json& evicted = condition(workload, "Evicted");
  if (is_true(evicted)) return fmt::format("Kueue evicted it: {}", text_at(evicted, {"message"}));
  const Json& reserved = condition(workload, "QuotaReserved");
  if (is_true(reserved) || !reserved.is_object()) return {};
  return fmt::format("Kueue has no quota for it: {}", text_at(reserved, {"message"}));
}

}  // namespace

std::span<const OwnerKind> kueue_kinds() {
  static const std::vector<OwnerKind> kKinds = make_kueue_kinds();
  return kKinds;
}

std::uint32_t gpus_of_workload(const Json& workload) {
  std::uint64_t gpus = 0;
  for (const Json& set : json_at(workload, {"spec", "podSets"})) {
    gpus +=
        std::uint64_t{count_at(set, {"count"})} * gpus_of_spec(json_at(set, {"template", "spec"}));
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, 100'000));
}

Owner owner_of_workload(const Json& workload, const std::string& queue) {
  const std::string& own_name = text_at(workload, {"metadata", "name"});
  const std::string& of_job = text_at(controller_of(workload), {"name"});
  const Json& active = json_at(workload, {"spec", "active"});
  Owner owner{
      .key = text_at(workload, {"metadata", "uid"}),
      .uid = text_at(workload, {"metadata", "uid"}),
      .name_space = text_at(workload, {"metadata", "namespace"}),
      .name = of_job.empty() ? own_name : of_job,
      .object_name = own_name,
      .about = {},
      .kind = kueue_kinds().data(),
      .version = text_at(workload, {"metadata", "resourceVersion"}),
      .pods = gpus_of_workload(workload),
      .tasks = gpus_of_workload(workload),
      .model = said(workload, kModelOf),
      .time = {parse_seconds(said(workload, kTimeOf)).value_or(0)},
      .queue = queue,
      .priority = integer_at(workload, {"spec", "priority"}),
      .pending = pending_text(workload),
      .is_suspended = active.is_boolean() && !active.get<bool>(),
      .is_ours = text_at(workload, {"metadata", "annotations", kSuspendedBy}) == kSchedulerName,
      .is_held = said(workload, kHold) == "true",
      .is_preemptible = said(workload, kPreemptible) != "false"};
  owner.needs.rules.selector = {
      {.key = std::string(kClusterQueueOf), .kind = LabelRule::Kind::kIn, .values = {queue}}};
  if (owner.model.empty()) owner.model = model_of_spec(json_at(template_of(workload), {"spec"}));
  if (owner.model.empty()) owner.model = owner.name;
  set_end(workload, owner);
  return owner;
}

QuotaState quota_state_of(const Json& workload) {
  if (is_true(condition(workload, "Finished"))) return QuotaState::kNone;
  if (!is_true(condition(workload, "QuotaReserved"))) return QuotaState::kNone;
  if (is_true(condition(workload, "Evicted"))) return QuotaState::kLeaves;
  if (!is_true(condition(workload, "Admitted"))) return QuotaState::kReserved;
  // Kueue writes PodsReady only if it is configured to wait for it. A running Workload may lose pods and recover.
  const Json& ready = condition(workload, "PodsReady");
  const bool is_ready =
      !ready.is_object() || is_true(ready) || text_at(ready, {"reason"}) == "WaitForRecovery";
  return is_ready ? QuotaState::kRuns : QuotaState::kReserved;
}

std::string product_of_flavor(const Json& flavor) {
  const std::string& product = text_at(flavor, {"spec", "nodeLabels", kGpuProduct});
  return product.empty() ? text_at(flavor, {"metadata", "name"}) : product;
}

bool preempts_within(const Json& queue) {
  const std::string& within = text_at(queue, {"spec", "preemption", "withinClusterQueue"});
  return !within.empty() && within != "Never";
}

std::vector<Node> nodes_of_queue(const Json& queue,
                                 const std::map<std::string, std::string>& products) {
  std::uint32_t gpus = 0;
  std::set<std::string> found;
  for (const Json& group : json_at(queue, {"spec", "resourceGroups"})) {
    for (const Json& flavor : json_at(group, {"flavors"})) {
      const std::uint32_t quota =
          count_at(item_at(flavor, {"resources"}, "name", kGpuResource), {"nominalQuota"});
      if (quota == 0) continue;
      gpus += quota;
      const std::string& name = text_at(flavor, {"name"});
      const auto product = products.find(name);
      found.insert(product == products.end() ? name : product->second);
    }
  }
  const std::string& name = text_at(queue, {"metadata", "name"});
  const std::string& stop = text_at(queue, {"spec", "stopPolicy"});
  std::vector<Node> nodes;
  for (std::uint32_t left = gpus; left > 0; left -= nodes.back().gpus) {
    Node node{.name = nodes.empty() ? name : fmt::format("{}.{}", name, nodes.size()),
              .product = found.size() == 1 ? *found.begin() : std::string(),
              .is_ready = true,
              .is_cordoned = !stop.empty() && stop != "None"};
    node.gpus = node.gpus_all = node.devices = std::min(left, kNodeGpusMax);
    node.labels[std::string(kClusterQueueOf)] = name;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace fairlead
