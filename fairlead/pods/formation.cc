// Which gangs there are: what owners and pods say, as they come, change and go.
#include "fairlead/pods/pods_world.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {

void PodsWorld::on_owner(const OwnerKind& kind, const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) return;
  const std::string& uid = text_at(*change.object, {"metadata", "uid"});
  const std::string name = fmt::format("{}/{}", change.name.first, change.name.second);
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  const std::string parent = known_parent(*change.object);
  // Pods outlive what made them, and stay with the gang that they are of.
  if (is_gone) lineage_.remove(uid);
  if (!is_gone && !parent.empty() && lineage_.add(uid, parent)) {
    move_members(uid, lineage_.top(uid));
  }
  if (is_gone || !is_fairleads(kind, *change.object)) {
    if (parent.empty()) refused_.erase(name);
    const auto found = gangs_.find(uid);
    if (found == gangs_.end()) return;
    found->second.is_here = false;
    return touch(found->second);
  }
  Result<Owner> owner = parse_owner(kind, *change.object);
  if (!owner) {
    const Json about = {
        {"apiVersion", kind.api_version},
        {"kind", kind.kind},
        {"metadata",
         {{"namespace", change.name.first}, {"name", change.name.second}, {"uid", uid}}}};
    return refuse(about, name, owner.error().message);
  }
  const auto [at, is_new] = gangs_.try_emplace(uid, *owner);
  // Else it may be that no node will do.
  if (is_new || !at->second.job.is_none()) refused_.erase(name);
  look_at_needs(at->second, owner->needs);
  at->second.view.set_owner(*std::move(owner));
  if (is_new) add_members(at->second);
  touch(at->second);
}

void PodsWorld::refuse(const Json& about, const std::string& name, const std::string& why) {
  if (std::exchange(refused_[name], why) != why) unexplained_.push_back(about);
}

void PodsWorld::add_members(Gang& gang) {
  const auto members = members_.find(gang.view.owner().key);
  if (members == members_.end()) return;
  for (const std::string& uid : members->second) gang.view.set_pod(pods_.at(uid));
}

void PodsWorld::on_budget(const ReflectedChange& change) {
  budgets_.on(change);
  // What did not stop may do so now.
  for (auto& [key, gang] : gangs_) {
    if (!gang.leaving.empty() || gang.is_beyond || gang.goes) touch(gang);
  }
}

void PodsWorld::on_pod(const ReflectedChange& change) {
  if (change.kind == ReflectedChange::Kind::kSynced) return;
  set_pod(parse_pod(*change.object), change.kind == ReflectedChange::Kind::kDeleted);
}

void PodsWorld::set_pod(Pod pod, bool is_gone) {
  if (const auto before = pods_.find(pod.uid); before != pods_.end()) {
    pods_on_[before->second.node].erase(pod.uid);
    touched_nodes_.insert(before->second.node);
    pod.gang = before->second.gang;
  } else if (pod.is_ours) {
    pod.gang = lineage_.gang_key(pod);
  }
  if (is_gone || !pod.node.empty()) asked_.erase(pod.uid);
  if (is_gone) {
    pods_.erase(pod.uid);
    residents_.remove(pod.uid);
  } else {
    pods_[pod.uid] = pod;
    residents_.set(pod);
    if (!pod.node.empty()) pods_on_[pod.node].insert(pod.uid);
    touched_nodes_.insert(pod.node);
  }
  if (pod.is_ours) join(pod, is_gone);
  // GPUs that it leaves may be what another waits for.
  if (pod.takes_gpus() && !pod.is_frozen() && !is_gone) return;
  if (!pod.takes_gpus() || is_gone) end_rest(pod.node);
  for (auto& [key, waiting] : gangs_) {
    if (waiting.runs && !waiting.is_started) touch(waiting);
  }
}

void PodsWorld::join(const Pod& pod, bool is_gone) {
  const std::string& key = pod.gang;
  if (is_gone) {
    members_[key].erase(pod.uid);
    if (members_[key].empty()) members_.erase(key);
  } else {
    members_[key].insert(pod.uid);
  }
  if (!pod.has_known_owner()) form(key, is_gone ? &pod : nullptr);
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return;
  if (is_gone) {
    found->second.view.remove_pod(pod.uid);
  } else {
    found->second.view.set_pod(pod);
  }
  touch(found->second);
}

// Pods of a Job whose owner has come to be known.
void PodsWorld::move_members(const std::string& from, const std::string& to) {
  const auto members = members_.find(from);
  if (members == members_.end() || from == to) return;
  const auto gang = gangs_.find(to);
  for (const std::string& uid : std::exchange(members->second, {})) {
    Pod& pod = pods_.at(uid);
    pod.gang = to;
    residents_.set(pod);
    members_[to].insert(uid);
    if (gang != gangs_.end()) gang->second.view.set_pod(pod);
  }
  members_.erase(from);
  if (gang != gangs_.end()) touch(gang->second);
}

// Makes a gang of the pods that go by `key`, or follows what has changed. `gone`: the pod that has left
// them.
void PodsWorld::form(const std::string& key, const Pod* gone) {
  const auto members = members_.find(key);
  const auto found = gangs_.find(key);
  if (members == members_.end()) {
    refused_.erase(fmt::format("{}/{}", gone->name_space, gone->name));
    if (found == gangs_.end()) return;
    // What controls the pods that were preempted makes them again.
    Gang& gang = found->second;
    const bool comes_again = gone->is_marked && !gang.view.owner().is_bare;
    gang.absent = comes_again ? door_.now() : Time::never();
    gang.is_here = gang.is_here && comes_again;
    return;
  }
  std::vector<const Pod*> pods;
  pods.reserve(members->second.size());
  for (const std::string& uid : members->second) pods.push_back(&pods_.at(uid));
  Result<Owner> owner = owner_of_pods(key, pods);
  if (!owner) {
    const Pod& first = *pods.front();
    return refuse(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", {{"namespace", first.name_space}, {"name", first.name}, {"uid", first.uid}}}},
        fmt::format("{}/{}", first.name_space, first.name), owner.error().message);
  }
  if (found == gangs_.end() || !found->second.job.is_none()) {
    refused_.erase(fmt::format("{}/{}", owner->name_space, owner->about));
  }
  if (found == gangs_.end()) {
    const auto made = gangs_.try_emplace(key, *std::move(owner)).first;
    look_at_needs(made->second, made->second.view.owner().needs);
    return add_members(made->second);
  }
  Gang& gang = found->second;
  gang.absent = Time::never();
  // What they ask for is known once all are there.
  if (!owner->is_complete) {
    owner->pods = gang.view.owner().pods;
    owner->needs = gang.view.owner().needs;
  }
  look_at_needs(gang, owner->needs);
  gang.view.set_owner(*std::move(owner));
}

// A gang that is over; what is left of its pods, or was made since, is another.
void PodsWorld::forget(const std::string& key) {
  keys_.erase(gangs_.at(key).job);
  const Owner& owner = gangs_.at(key).view.owner();
  const bool is_of_pods = owner.kind == nullptr;
  if (is_of_pods) refused_.erase(fmt::format("{}/{}", owner.name_space, owner.name));
  gangs_.erase(key);
  if (!is_of_pods || !members_.contains(key)) return;
  form(key, nullptr);
  if (const auto again = gangs_.find(key); again != gangs_.end()) touch(again->second);
}

}  // namespace fairlead
