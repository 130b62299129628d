#include "fairlead/kube/fake_kueue.h"

#include "fairlead/kube/fake_cluster.h"
#include "fairlead/kube/fake_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";

std::int64_t number_of(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.is_string() ? std::stoll(value.get<std::string>()) : 0;
}

std::int64_t gpus_of(const Json& workload) {
  std::int64_t gpus = 0;
  for (const Json& set : json_at(workload, {"spec", "podSets"})) {
    for (const Json& container : json_at(set, {"template", "spec", "containers"}))
      gpus +=
          integer_at(set, {"count"}) * number_of(json_at(container, {"resources", "limits", kGpu}));
  }
  return gpus;
}

std::int64_t quota_of(const Json& queue) {
  std::int64_t gpus = 0;
  for (const Json& group : json_at(queue, {"spec", "resourceGroups"})) {
    for (const Json& flavor : json_at(group, {"flavors"}))
      gpus += number_of(json_at(item_at(flavor, {"resources"}, "name", kGpu), {"nominalQuota"}));
  }
  return gpus;
}

bool is_active(const Json& workload) {
  const Json& active = json_at(workload, {"spec", "active"});
  return !active.is_boolean() || active.get<bool>();
}

std::int64_t priority_of(const Json& workload) {
  return integer_at(workload, {"spec", "priority"});
}

void set_condition(Json& workload, std::string_view type, bool status, std::string_view reason,
                   const std::string& message) {
  Json& conditions = workload["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  const Json made = {{"type", type},
                     {"status", status ? "True" : "False"},
                     {"reason", reason},
                     {"message", message}};
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Json& one) { return text_at(one, {"type"}) == type; });
  if (found == conditions.end()) {
    conditions.push_back(made);
  } else {
    *found = made;
  }
}

}  // namespace

void FakeKueue::serve() {
  store_.serve(std::string(kWorkloads), "Workload");
  store_.serve(std::string(kClusterQueues), "ClusterQueue");
  store_.serve(std::string(kLocalQueues), "LocalQueue");
  store_.serve(std::string(kFlavors), "ResourceFlavor");
}

void FakeKueue::changed(const FakeChange& change) {
  const std::string& resource = change.key.resource;
  if (resource != kWorkloads && resource != kClusterQueues && resource != kLocalQueues) return;
  if (std::exchange(is_planned_, true)) return;
  planner_.plan(planner_.delays().controller, [this] { operate(); });
}

Duration FakeKueue::admitted(const std::string& uid) const {
  const auto found = runs_.find(uid);
  if (found == runs_.end()) return {};
  const Run& run = found->second;
  return run.since == Time::never() ? run.before : run.before + (planner_.now() - run.since);
}

void FakeKueue::put(const FakeKey& key, const Json& workload) {
  store_.put(key, workload, planner_.unix_ms());
}

std::string FakeKueue::queue_of(const Json& workload) const {
  const FakeObject queue =
      store_.find({std::string(kLocalQueues), text_at(workload, {"metadata", "namespace"}),
                   text_at(workload, {"spec", "queueName"})});
  return queue ? text_at(*queue, {"spec", "clusterQueue"}) : std::string();
}

void FakeKueue::operate() {
  is_planned_ = false;
  for (const FakeObject& queue : store_.list({std::string(kClusterQueues), "", "", ""}))
    operate(text_at(*queue, {"metadata", "name"}));
}

// Returns true if the Workload waits for quota. Evicts it if it is inactive.
bool FakeKueue::look_at(const FakeKey& key, const Json& workload) {
  if (has_condition(workload, "Finished")) return false;
  if (!is_active(workload)) {
    if (!has_condition(workload, "Evicted"))
      evict(key, "Deactivated", "The workload is deactivated");
    return false;
  }
  return !has_condition(workload, "QuotaReserved");
}

void FakeKueue::operate(const std::string& queue) {
  const FakeObject object = store_.find({std::string(kClusterQueues), "", queue});
  std::int64_t left = quota_of(*object);
  const bool preempts =
      text_at(*object, {"spec", "preemption", "withinClusterQueue"}) == "LowerPriority";
  std::vector<FakeObject> waiting;
  std::vector<FakeObject> running;
  for (const FakeObject& workload : store_.list({std::string(kWorkloads), "", "", ""})) {
    if (queue_of(*workload) != queue) continue;
    if (look_at(key_of(kWorkloads, *workload), *workload)) waiting.push_back(workload);
    if (!has_condition(*workload, "QuotaReserved")) continue;
    left -= gpus_of(*workload);
    running.push_back(workload);
  }
  std::ranges::sort(waiting, {}, [](const FakeObject& workload) {
    return std::tuple(-priority_of(*workload),
                      text_at(*workload, {"metadata", "creationTimestamp"}), uid_of(*workload));
  });
  for (const FakeObject& workload : waiting) {
    const FakeKey key = key_of(kWorkloads, *workload);
    const std::int64_t gpus = gpus_of(*workload);
    const std::string& lacks = text_at(*workload, {"metadata", "annotations", kFakeLacks});
    if (gpus <= left && lacks.empty()) {
      left -= gpus;
      admit(key, queue);
      continue;
    }
    if (lacks.empty() && preempts && make_room(*workload, gpus - left, running)) continue;
    Json pending = *workload;
    set_condition(pending, "QuotaReserved", false, "Pending",
                  fmt::format("couldn't assign flavors to pod set main: insufficient unused quota "
                              "for {} in flavor default",
                              lacks.empty() ? kGpu : lacks));
    put(key, pending);
  }
}

// Evicts Workloads of a lower priority. Returns false, without effect, if that gives too few GPUs.
bool FakeKueue::make_room(const Json& workload, std::int64_t lacks,
                          const std::vector<FakeObject>& running) {
  std::vector<FakeObject> victims;
  for (const FakeObject& one : running) {
    if (priority_of(*one) < priority_of(workload)) victims.push_back(one);
  }
  std::ranges::sort(victims, {}, [](const FakeObject& one) { return priority_of(*one); });
  std::int64_t freed = 0;
  for (const FakeObject& victim : victims) freed += gpus_of(*victim);
  if (freed < lacks) return false;
  for (const FakeObject& victim : victims) {
    if (lacks <= 0) break;
    lacks -= gpus_of(*victim);
    if (has_condition(*victim, "Evicted")) continue;
    evict(key_of(kWorkloads, *victim), "Preempted",
          fmt::format("Preempted to accommodate a workload (UID: {}) due to prioritization in the "
                      "ClusterQueue",
                      uid_of(workload)));
  }
  return true;
}

void FakeKueue::admit(const FakeKey& key, const std::string& queue) {
  Json workload = *store_.find(key);
  set_condition(workload, "QuotaReserved", true, "QuotaReserved", "Quota reserved");
  set_condition(workload, "Admitted", true, "Admitted", "The workload is admitted");
  if (has_condition(workload, "Evicted"))
    set_condition(workload, "Evicted", false, "QuotaReserved", "Previously: evicted");
  workload["status"]["admission"] = {{"clusterQueue", queue}};
  const std::string uid = uid_of(workload);
  Run& run = runs_[uid];
  run.since = planner_.now();
  run.is_ending = false;
  ++run.number;
  put(key, workload);
  const std::int64_t length = annotation(workload, kFakeRun, 0);
  if (length == 0) return;
  planner_.plan(Duration{std::max<std::int64_t>(length - run.before.ms, 0)},
                [this, key, uid, number = run.number] { finish(key, uid, number); });
}

void FakeKueue::evict(const FakeKey& key, std::string_view reason, const std::string& message) {
  Json workload = *store_.find(key);
  set_condition(workload, "Evicted", true, reason, message);
  const bool has_quota = has_condition(workload, "QuotaReserved");
  if (!has_quota) set_condition(workload, "QuotaReserved", false, "Pending", message);
  put(key, workload);
  Run& run = runs_[uid_of(workload)];
  if (!has_quota || std::exchange(run.is_ending, true)) return;
  planner_.plan(planner_.delays().stop, [this, key] { release(key); });
}

// Takes the quota of an evicted Workload once its pods have ended.
void FakeKueue::release(const FakeKey& key) {
  const FakeObject found = store_.find(key);
  if (!found || !has_condition(*found, "Evicted") || !has_condition(*found, "QuotaReserved"))
    return;
  Json workload = *found;
  const std::string message =
      text_at(item_at(workload, {"status", "conditions"}, "type", "Evicted"), {"message"});
  set_condition(workload, "QuotaReserved", false, "Pending", message);
  set_condition(workload, "Admitted", false, "NoReservation", "The workload has no reservation");
  workload["status"].erase("admission");
  Run& run = runs_[uid_of(workload)];
  run.before = admitted(uid_of(workload));
  run.since = Time::never();
  put(key, workload);
}

void FakeKueue::finish(const FakeKey& key, const std::string& uid, std::uint64_t number) {
  const FakeObject found = store_.find(key);
  Run& run = runs_[uid];
  const bool is_its = found && uid_of(*found) == uid && run.number == number && !run.is_ending;
  if (!is_its) return;
  Json workload = *found;
  set_condition(workload, "Finished", true, "Succeeded", "Job finished successfully");
  set_condition(workload, "QuotaReserved", false, "Pending", "The workload is finished");
  run.before = admitted(uid);
  run.since = Time::never();
  put(key, workload);
}

}  // namespace fairlead
