#include "fairlead/kube/fake_cluster.h"

#include "fairlead/kube/fake_objects.h"
#include "fairlead/kube/fake_patch.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr Duration kOrphaned = seconds(40);
constexpr Duration kEvicted = seconds(300);

}  // namespace

FakeCluster::FakeCluster(FakeStore& store, FakeAgenda& agenda, const FakeDelays& delays,
                         std::uint64_t seed)
    : store_(store),
      planner_(agenda, delays, Rng(seed).split(1)),
      quotas_(store, planner_),
      jobs_(store, planner_, quotas_),
      operators_(store, planner_),
      kueue_(store, planner_),
      volumes_(store, planner_),
      devices_(store, planner_) {}

Duration FakeCluster::progress(const std::string& owner_uid) const {
  const auto found = progress_.find(owner_uid);
  return found == progress_.end() ? Duration() : found->second;
}

void FakeCluster::changed(const FakeChange& change) {
  const std::string& resource = change.key.resource;
  if (!change.after) {
    const std::string uid = uid_of(*change.before);
    planner_.plan(planner_.delays().controller, [this, uid] { collect(uid); });
  }
  operators_.changed(change);
  kueue_.changed(change);
  volumes_.changed(change);
  devices_.changed(change);
  if (resource == kNodes) node_changed(change);
  if (resource == kJobs && change.after) jobs_.job_changed(change.key);
  if (resource != kPods) return;
  jobs_.pod_changed(change);
  quotas_.count(change.key.name_space);
  if (!change.after) return settle(*change.before);
  const Json& pod = *change.after;
  const std::string uid = uid_of(pod);
  if (is_over(pod)) return settle(pod);
  if (node_of(pod).empty()) return;
  const bool was_bound = change.before && !node_of(*change.before).empty();
  if (!was_bound)
    planner_.plan(planner_.delays().admit, [this, key = change.key, uid] { admit(key, uid); });
  if (is_deleted(pod) && !(was_bound && is_deleted(*change.before))) {
    const auto grace = seconds(integer_at(pod, {"metadata", "deletionGracePeriodSeconds"}));
    planner_.plan(std::min(planner_.draw(planner_.delays().stop), grace),
                  [this, key = change.key, uid] { stop(key, uid); });
  }
}

// Deletes the children of a deleted owner.
void FakeCluster::collect(const std::string& owner_uid) {
  for (const FakeObject& pod : pods_of(store_, owner_uid)) {
    if (!is_deleted(*pod)) jobs_.delete_pod(*pod);
  }
  volumes_.collect(owner_uid);
  devices_.collect(owner_uid);
  std::vector<std::string> resources = operators_.resources();
  resources.emplace(resources.begin(), kJobs);
  for (const std::string& resource : resources) {
    for (const FakeObject& child : store_.list({resource, "", "", ""})) {
      if (text_at(owner_of(*child), {"uid"}) != owner_uid) continue;
      store_.put(key_of(resource, *child), {}, planner_.unix_ms());
    }
  }
}

// Removes the pods of a deleted node. Deletes the pods of a node that has not been ready for long; its
// kubelet carries that out once the node is ready again.
void FakeCluster::node_changed(const FakeChange& change) {
  const std::string& name = change.key.name;
  if (!change.after) {
    planner_.plan(kOrphaned, [this, name] {
      if (store_.find({std::string(kNodes), "", name})) return;
      for (const FakeObject& pod : pods_on(name))
        store_.put(key_of(kPods, *pod), {}, planner_.unix_ms());
    });
    return;
  }
  if (has_condition(*change.after, "Ready")) {
    unready_since_.erase(name);
  } else if (unready_since_.emplace(name, planner_.now()).second) {
    planner_.plan(kEvicted, [this, name, since = planner_.now()] { evict(name, since); });
  }
}

void FakeCluster::evict(const std::string& node, Time unready_since) {
  const auto found = unready_since_.find(node);
  if (found == unready_since_.end() || found->second != unready_since) return;
  for (const FakeObject& pod : pods_on(node)) {
    const FakeKey key = key_of(kPods, *pod);
    if (is_over(*pod) || is_deleted(*pod)) continue;
    set_status(key, pod,
               {{"conditions", Json::array({{{"type", "DisruptionTarget"},
                                             {"status", "True"},
                                             {"reason", "DeletionByTaintManager"}}})}});
    store_.handle("DELETE", {key.resource, key.name_space, key.name, "", ""}, "", "",
                  planner_.unix_ms());
  }
}

std::vector<FakeObject> FakeCluster::pods_on(const std::string& node) const {
  return store_.list({std::string(kPods), "", "spec.nodeName=" + node, ""});
}

bool FakeCluster::is_node_ready(const std::string& name) const {
  const FakeObject node = store_.find({std::string(kNodes), "", name});
  return node && has_condition(*node, "Ready");
}

FakeObject FakeCluster::at_work(const FakeKey& key, const std::string& uid) const {
  FakeObject pod = store_.find(key);
  return pod && uid_of(*pod) == uid && !is_over(*pod) ? pod : nullptr;
}

// Returns a resource that the node lacks for this pod beside the admitted pods; empty: none.
std::string FakeCluster::shortage(const Json& pod, const Json& node) const {
  FakeAmounts used = requests_of(pod);
  for (const FakeObject& other : pods_on(node_of(pod))) {
    if (is_over(*other) || !admitted_.contains(uid_of(*other))) continue;
    for (const auto& [name, amount] : requests_of(*other)) used[name] += amount;
  }
  for (const auto& [name, amount] : used) {
    const bool is_asked = requests_of(pod).contains(name);
    if (is_asked && amount > quantity_of(json_at(node, {"status", "allocatable", name})))
      return name;
  }
  return {};
}

void FakeCluster::admit(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod) return;
  const FakeObject node = store_.find({std::string(kNodes), "", node_of(*pod)});
  if (!node) {
    planner_.plan(kOrphaned, [this, key, uid] {
      if (at_work(key, uid)) store_.put(key, {}, planner_.unix_ms());
    });
    return;
  }
  if (!is_node_ready(node_of(*pod))) {
    return planner_.plan(seconds(1), [this, key, uid] { admit(key, uid); });
  }
  const std::string lacking = shortage(*pod, *node);
  if (!lacking.empty()) {
    return set_status(
        key, pod,
        {{"phase", "Failed"},
         {"reason", "OutOf" + lacking},
         {"message", "Pod was rejected: Node didn't have enough resource: " + lacking}});
  }
  admitted_.insert(uid);
  planner_.plan(planner_.delays().start, [this, key, uid] { start(key, uid); });
}

void FakeCluster::start(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod || is_deleted(*pod)) return;
  if (!is_node_ready(node_of(*pod)) || !volumes_.problem(*pod).empty() ||
      !devices_.problem(*pod).empty()) {
    return planner_.plan(seconds(1), [this, key, uid] { start(key, uid); });
  }
  running_since_[uid] = planner_.now();
  const Duration before = progress(text_at(owner_of(*pod), {"uid"}));
  run_before_[uid] = before;
  set_status(key, pod,
             {{"phase", "Running"},
              {"startTime", timestamp(planner_.unix_ms())},
              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}});
  const std::int64_t run = annotation(*pod, kFakeRun, 0);
  if (run == 0) return;
  planner_.plan(Duration{std::max<std::int64_t>(run - before.ms, 1)},
                [this, key, uid] { finish(key, uid); });
}

void FakeCluster::finish(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod) return;
  const Duration left = Duration{annotation(*pod, kFakeRun, 0)} - run_before_[uid] - run_of(uid);
  if (left > Duration()) return planner_.plan(left, [this, key, uid] { finish(key, uid); });
  const bool is_good = annotation(*pod, kFakeExitCode, 0) == 0;
  set_status(key, pod,
             {{"phase", is_good ? "Succeeded" : "Failed"},
              {"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})}});
}

// Ends a pod that was asked to end, and removes it.
void FakeCluster::stop(const FakeKey& key, const std::string& uid) {
  FakeObject pod = at_work(key, uid);
  if (pod && !is_node_ready(node_of(*pod)) &&
      store_.find({std::string(kNodes), "", node_of(*pod)})) {
    return planner_.plan(seconds(1), [this, key, uid] { stop(key, uid); });
  }
  if (pod && is_frozen(uid)) return planner_.plan(seconds(1), [this, key, uid] { stop(key, uid); });
  if (pod) set_status(key, pod, {{"phase", "Failed"}});
  pod = store_.find(key);
  if (pod && uid_of(*pod) == uid && is_deleted(*pod)) store_.put(key, {}, planner_.unix_ms());
}

void FakeCluster::set_status(const FakeKey& key, const FakeObject& pod, const Json& status) {
  Json changed = *pod;
  strategic_merge_patch(changed["status"], status);
  store_.put(key, changed, planner_.unix_ms());
}

// Adds the run of an ended pod to its owner's progress.
void FakeCluster::settle(const Json& pod) {
  const std::string& uid = uid_of(pod);
  admitted_.erase(uid);
  const auto since = running_since_.find(uid);
  if (since == running_since_.end()) return;
  const std::string& owner = text_at(owner_of(pod), {"uid"});
  if (!owner.empty()) {
    Duration& done = progress_[owner];
    done = std::max(done, run_before_[uid] + run_of(uid));
  }
  running_since_.erase(since);
  run_before_.erase(uid);
  frozen_since_.erase(uid);
  frozen_for_.erase(uid);
}

void FakeCluster::freeze(const std::string& uid, bool is_frozen) {
  if (is_frozen) {
    frozen_since_.emplace(uid, planner_.now());
  } else if (const auto since = frozen_since_.find(uid); since != frozen_since_.end()) {
    frozen_for_[uid] += planner_.now() - since->second;
    frozen_since_.erase(since);
  }
}

Duration FakeCluster::run_of(const std::string& uid) const {
  Duration run = planner_.now() - running_since_.at(uid);
  if (const auto before = frozen_for_.find(uid); before != frozen_for_.end())
    run = run - before->second;
  if (const auto since = frozen_since_.find(uid); since != frozen_since_.end())
    run = run - (planner_.now() - since->second);
  return run;
}

}  // namespace fairlead
