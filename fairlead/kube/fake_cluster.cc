#include "fairlead/kube/fake_cluster.h"

#include "fairlead/kube/fake_objects.h"
#include "fairlead/kube/fake_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fairlead {
namespace {

constexpr Duration kOrphaned = seconds(40);
constexpr Duration kEvicted = seconds(300);

// Returns the amount of "8", "500m" or "64Gi", in thousandths.
double quantity(const Json& value) {
  if (value.is_number()) return value.get<double>() * 1000;
  const std::string text = value.is_string() ? value.get<std::string>() : "0";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view kPowers = "KMGTPE";
  double factor = unit == "m" ? 1 : 1000;
  if (!unit.empty() && unit != "m") {
    const double step = unit.ends_with('i') ? 1024 : 1000;
    for (std::size_t i = 0; i <= std::min(kPowers.find(unit.front()), kPowers.size()); ++i)
      factor *= step;
  }
  return static_cast<double>(number) * factor;
}

using Amounts = std::map<std::string, double>;

Amounts amounts_of(const Json& requests) {
  Amounts amounts;
  if (!requests.is_object()) return amounts;
  for (const auto& [name, value] : requests.items()) amounts[name] = quantity(value);
  return amounts;
}

// Returns each resource's sum over the containers, or the largest request of an init container if that
// is more. There are no sidecars here.
Amounts requests_of(const Json& pod) {
  Amounts sum;
  for (const Json& container : json_at(pod, {"spec", "containers"})) {
    for (const auto& [name, amount] : amounts_of(json_at(container, {"resources", "requests"}))) {
      sum[name] += amount;
    }
  }
  for (const Json& container : json_at(pod, {"spec", "initContainers"})) {
    for (const auto& [name, amount] : amounts_of(json_at(container, {"resources", "requests"}))) {
      sum[name] = std::max(sum[name], amount);
    }
  }
  for (const auto& [name, amount] : amounts_of(json_at(pod, {"spec", "overhead"}))) {
    sum[name] += amount;
  }
  sum["pods"] = 1000;
  return sum;
}

}  // namespace

FakeCluster::FakeCluster(FakeStore& store, FakeAgenda& agenda, const FakeDelays& delays,
                         std::uint64_t seed)
    : store_(store),
      agenda_(agenda),
      delays_(delays),
      rng_(Rng(seed).split(1)),
      volumes_(store, {.soon =
                           [this](std::function<void()> act) {
                             plan(draw(delays_.controller), std::move(act));
                           },
                       .when_made =
                           [this](std::function<void()> act) {
                             plan(draw(delays_.provision), std::move(act));
                           },
                       .unix_ms = [this] { return unix_ms(); }}) {}

Duration FakeCluster::draw(FakeDelay delay) {
  const auto span = static_cast<std::uint64_t>((delay.most - delay.least).ms);
  return delay.least + Duration{static_cast<std::int64_t>(rng_.below(span + 1))};
}

// Returns the use of a namespace by pods that have not ended: "requests.cpu", "pods".
std::map<std::string, double> FakeCluster::quota_used(const std::string& name_space) const {
  Amounts used;
  for (const FakeObject& pod : store_.list({std::string(kPods), name_space, "", ""})) {
    if (is_over(*pod)) continue;
    for (const auto& [name, amount] : requests_of(*pod)) {
      used[name == "pods" ? name : "requests." + name] += amount;
    }
  }
  return used;
}

bool FakeCluster::exceeds_quota(const std::string& name_space, const Json& pod) const {
  const auto quotas = store_.list({std::string(kQuotas), name_space, "", ""});
  if (quotas.empty()) return false;
  Amounts used = quota_used(name_space);
  for (const auto& [name, amount] : requests_of(pod)) {
    used[name == "pods" ? name : "requests." + name] += amount;
  }
  return std::ranges::any_of(quotas, [&](const FakeObject& quota) {
    return std::ranges::any_of(amounts_of(json_at(*quota, {"spec", "hard"})),
                               [&](const auto& entry) { return used[entry.first] > entry.second; });
  });
}

// Writes the use of a namespace into its quotas.
void FakeCluster::count_quotas(const std::string& name_space) {
  for (const FakeObject& quota : store_.list({std::string(kQuotas), name_space, "", ""})) {
    Json counted = *quota;
    Amounts used = quota_used(name_space);
    for (const auto& [name, amount] : amounts_of(json_at(*quota, {"spec", "hard"}))) {
      counted["status"]["used"][name] = fmt::format("{}m", static_cast<std::int64_t>(used[name]));
    }
    if (counted != *quota) store_.put(key_of(kQuotas, *quota), counted, unix_ms());
  }
}

std::int64_t FakeCluster::unix_ms() const { return kFakeEpochMs + agenda_.now().ms; }

void FakeCluster::plan(Duration delay, std::function<void()> act) {
  agenda_.after(delay, [this, act = std::move(act)] {
    if (agenda_.now() >= away_until_) return act();
    plan(away_until_ - agenda_.now(), act);
  });
}

Duration FakeCluster::progress(const std::string& owner_uid) const {
  const auto found = progress_.find(owner_uid);
  return found == progress_.end() ? Duration() : found->second;
}

void FakeCluster::changed(const FakeChange& change) {
  const std::string& resource = change.key.resource;
  if (!change.after) {
    const std::string uid = uid_of(*change.before);
    plan(draw(delays_.controller), [this, uid] { collect(uid); });
  }
  plan_operators(change);
  volumes_.changed(change);
  if (resource == kNodes) node_changed(change);
  if (resource == kJobs && change.after) plan_job(change.key, draw(delays_.controller));
  if (resource != kPods) return;
  pod_of_job_changed(change);
  count_quotas(change.key.name_space);
  if (!change.after) return settle(*change.before);
  const Json& pod = *change.after;
  const std::string uid = uid_of(pod);
  if (is_over(pod)) return settle(pod);
  if (node_of(pod).empty()) return;
  const bool was_bound = change.before && !node_of(*change.before).empty();
  if (!was_bound) plan(draw(delays_.admit), [this, key = change.key, uid] { admit(key, uid); });
  if (is_deleted(pod) && !(was_bound && is_deleted(*change.before))) {
    const auto grace = seconds(integer_at(pod, {"metadata", "deletionGracePeriodSeconds"}));
    plan(std::min(draw(delays_.stop), grace), [this, key = change.key, uid] { stop(key, uid); });
  }
}

// Removes the pods of a deleted node. Deletes the pods of a node that has not been ready for long; its
// kubelet carries that out once the node is ready again.
void FakeCluster::node_changed(const FakeChange& change) {
  const std::string& name = change.key.name;
  if (!change.after) {
    plan(kOrphaned, [this, name] {
      if (store_.find({std::string(kNodes), "", name})) return;
      for (const FakeObject& pod : pods_on(name)) store_.put(key_of(kPods, *pod), {}, unix_ms());
    });
    return;
  }
  if (has_condition(*change.after, "Ready")) {
    unready_since_.erase(name);
  } else if (unready_since_.emplace(name, agenda_.now()).second) {
    plan(kEvicted, [this, name, since = agenda_.now()] { evict(name, since); });
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
    store_.handle("DELETE", {key.resource, key.name_space, key.name, "", ""}, "", "", unix_ms());
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
  std::map<std::string, double> used = requests_of(pod);
  for (const FakeObject& other : pods_on(node_of(pod))) {
    if (is_over(*other) || !admitted_.contains(uid_of(*other))) continue;
    for (const auto& [name, amount] : requests_of(*other)) used[name] += amount;
  }
  for (const auto& [name, amount] : used) {
    const bool is_asked = requests_of(pod).contains(name);
    if (is_asked && amount > quantity(json_at(node, {"status", "allocatable", name}))) return name;
  }
  return {};
}

void FakeCluster::admit(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod) return;
  const FakeObject node = store_.find({std::string(kNodes), "", node_of(*pod)});
  if (!node) {
    plan(kOrphaned, [this, key, uid] {
      if (at_work(key, uid)) store_.put(key, {}, unix_ms());
    });
    return;
  }
  if (!is_node_ready(node_of(*pod))) {
    return plan(seconds(1), [this, key, uid] { admit(key, uid); });
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
  plan(draw(delays_.start), [this, key, uid] { start(key, uid); });
}

void FakeCluster::start(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod || is_deleted(*pod)) return;
  if (!is_node_ready(node_of(*pod)) || !volumes_.problem(*pod).empty()) {
    return plan(seconds(1), [this, key, uid] { start(key, uid); });
  }
  running_since_[uid] = agenda_.now();
  const Duration before = progress(text_at(owner_of(*pod), {"uid"}));
  run_before_[uid] = before;
  set_status(key, pod,
             {{"phase", "Running"},
              {"startTime", timestamp(unix_ms())},
              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}});
  const std::int64_t run = annotation(*pod, kFakeRun, 0);
  if (run == 0) return;
  plan({std::max<std::int64_t>(run - before.ms, 1)}, [this, key, uid] { finish(key, uid); });
}

void FakeCluster::finish(const FakeKey& key, const std::string& uid) {
  const FakeObject pod = at_work(key, uid);
  if (!pod) return;
  const Duration left = Duration{annotation(*pod, kFakeRun, 0)} - run_before_[uid] - run_of(uid);
  if (left > Duration()) return plan(left, [this, key, uid] { finish(key, uid); });
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
    return plan(seconds(1), [this, key, uid] { stop(key, uid); });
  }
  if (pod && is_frozen(uid)) return plan(seconds(1), [this, key, uid] { stop(key, uid); });
  if (pod) set_status(key, pod, {{"phase", "Failed"}});
  pod = store_.find(key);
  if (pod && uid_of(*pod) == uid && is_deleted(*pod)) store_.put(key, {}, unix_ms());
}

void FakeCluster::set_status(const FakeKey& key, const FakeObject& pod, const Json& status) {
  Json changed = *pod;
  strategic_merge_patch(changed["status"], status);
  store_.put(key, changed, unix_ms());
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
    frozen_since_.emplace(uid, agenda_.now());
  } else if (const auto since = frozen_since_.find(uid); since != frozen_since_.end()) {
    frozen_for_[uid] += agenda_.now() - since->second;
    frozen_since_.erase(since);
  }
}

Duration FakeCluster::run_of(const std::string& uid) const {
  Duration run = agenda_.now() - running_since_.at(uid);
  if (const auto before = frozen_for_.find(uid); before != frozen_for_.end())
    run = run - before->second;
  if (const auto since = frozen_since_.find(uid); since != frozen_since_.end())
    run = run - (agenda_.now() - since->second);
  return run;
}

}  // namespace fairlead
