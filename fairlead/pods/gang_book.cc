#include "fairlead/pods/gang_book.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

Json object_of(std::string_view api_version, std::string_view kind, const std::string& name_space,
               const std::string& name, const std::string& uid) {
  return {{"apiVersion", api_version},
          {"kind", kind},
          {"metadata", {{"namespace", name_space}, {"name", name}, {"uid", uid}}}};
}

}  // namespace

bool GangBook::Entry::is_whole_and_here() const {
  const Owner& owner = gang.owner();
  return is_here && owner.state == Owner::State::kHere && owner.is_complete();
}

std::vector<std::string> GangBook::set_parent(const std::string& owner, const std::string& parent) {
  if (parent.empty() || !lineage_.add(owner, parent)) return {};
  const auto members = members_.find(owner);
  if (members == members_.end() || lineage_.top(owner) == owner) return {};
  std::vector<std::string> moved(members->second.begin(), members->second.end());
  members_.erase(members);
  return moved;
}

void GangBook::set_owner(const OwnerKind& kind, const ReflectedChange& change, Time now) {
  const std::string& uid = text_at(*change.object, {"metadata", "uid"});
  const std::string name = fmt::format("{}/{}", change.name.first, change.name.second);
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  if (is_gone || !is_fairleads(kind, *change.object)) {
    if (known_parent(*change.object).empty()) refusals_.remove(name);
    return remove_owner(uid);
  }
  Result<Owner> owner = parse_owner(kind, *change.object);
  if (!owner) {
    const Json about =
        object_of(kind.api_version, kind.kind, change.name.first, change.name.second, uid);
    return refusals_.add(about, uid, name, owner.error().message);
  }
  put_owner(*std::move(owner), now);
}

void GangBook::put_owner(Owner owner, Time now) {
  const std::string key = owner.key;
  const auto [at, is_new] = entries_.try_emplace(key, Entry{PodGang(owner)});
  Entry& entry = at->second;
  const auto has_left = [](const Owner& one) { return one.state == Owner::State::kLeft; };
  if (has_left(entry.gang.owner()) && !has_left(owner)) entry.is_here = false;
  if (!entry.is_here) {
    entry.next = std::move(owner);
    return queue_.add_gang(key);
  }
  // A gang without a job may be refused because no node is right for it.
  if (is_new || !entry.job.is_none())
    refusals_.remove(fmt::format("{}/{}", owner.name_space, owner.name));
  const PodNeeds* const told = entry.job.is_none() ? nullptr : &entry.gang.owner().needs;
  if (!has_left(owner)) engine_cluster_.look_at(owner.needs, told, now);
  entry.gang.set_owner(std::move(owner));
  if (is_new) add_members(entry);
  queue_.add_gang(key);
}

void GangBook::remove_owner(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.is_here = false;
  found->second.next.reset();
  queue_.add_gang(key);
}

void GangBook::set_pod_group(const OwnerKind& kind, const ReflectedChange& change, Time now) {
  const std::string key = fmt::format("{}/{}:{}", change.name.first, kind.mark, change.name.second);
  const Json& size = json_along(*change.object, kind.members);
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  if (is_gone || !size.is_number_unsigned()) {
    group_sizes_.erase(key);
  } else {
    group_sizes_[key] =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(size.get<std::uint64_t>(), 1'000'000));
  }
  if (!members_.contains(key)) return;
  form(key, nullptr, now);
  if (entries_.contains(key)) queue_.add_gang(key);
}

void GangBook::take_answer(const std::string& key, const Json& owner) {
  PodGang& gang = entries_.at(key).gang;
  if (gang.owner().kind == nullptr) return;
  Result<Owner> parsed = parse_owner(*gang.owner().kind, owner);
  if (parsed) gang.set_owner(*std::move(parsed));
}

void GangBook::add_members(Entry& entry) {
  const auto members = members_.find(entry.gang.owner().key);
  if (members == members_.end()) return;
  for (const std::string& uid : members->second) entry.gang.set_pod(*cluster_.pod(uid));
}

void GangBook::set_pod(const Pod& pod, Time now) {
  members_[pod.gang].insert(pod.uid);
  if (!pod.has_known_owner()) form(pod.gang, nullptr, now);
  const auto found = entries_.find(pod.gang);
  if (found == entries_.end() || found->second.next) return;
  found->second.gang.set_pod(pod);
  queue_.add_gang(pod.gang);
}

void GangBook::remove_pod(const Pod& pod, Time now) {
  std::set<std::string>& members = members_[pod.gang];
  members.erase(pod.uid);
  if (members.empty()) members_.erase(pod.gang);
  if (!pod.has_known_owner()) form(pod.gang, &pod, now);
  const auto found = entries_.find(pod.gang);
  if (found == entries_.end()) return;
  found->second.gang.remove_pod(pod.uid);
  queue_.add_gang(pod.gang);
}

// Makes a gang of the pods with that key, or updates it. `gone`: the pod that has left the gang; null:
// none.
void GangBook::form(const std::string& key, const Pod* gone, Time now) {
  const auto members = members_.find(key);
  const auto found = entries_.find(key);
  if (members == members_.end()) {
    refusals_.remove(fmt::format("{}/{}", gone->name_space, gone->name));
    if (found == entries_.end()) return;
    // The controller of pods that were preempted makes them again.
    Entry& entry = found->second;
    const bool comes_again = gone->is_marked && !entry.gang.owner().is_bare;
    entry.absent = comes_again ? now : Time::never();
    entry.is_here = entry.is_here && comes_again;
    return;
  }
  std::vector<const Pod*> pods;
  pods.reserve(members->second.size());
  for (const std::string& uid : members->second) pods.push_back(cluster_.pod(uid));
  const auto size = group_sizes_.find(key);
  Result<Owner> owner = owner_of_pods(key, pods, size == group_sizes_.end() ? 0 : size->second);
  if (!owner) {
    const Pod& first = *pods.front();
    return refusals_.add(object_of("v1", "Pod", first.name_space, first.name, first.uid), key,
                         fmt::format("{}/{}", first.name_space, first.name), owner.error().message);
  }
  if (found == entries_.end() || !found->second.job.is_none()) {
    refusals_.remove(fmt::format("{}/{}", owner->name_space, owner->about));
  }
  if (found == entries_.end()) {
    engine_cluster_.look_at(owner->needs, nullptr, now);
    const auto made = entries_.try_emplace(key, Entry{PodGang(*std::move(owner))}).first;
    return add_members(made->second);
  }
  Entry& entry = found->second;
  entry.absent = Time::never();
  // The needs and the number of pods are known once all are there.
  if (!owner->is_complete()) {
    const Owner& known = entry.gang.owner();
    owner->pods = known.pods;
    owner->tasks = known.tasks;
    owner->task_gpus = known.task_gpus;
    owner->needs = known.needs;
  }
  const PodNeeds* const told = entry.job.is_none() ? nullptr : &entry.gang.owner().needs;
  engine_cluster_.look_at(owner->needs, told, now);
  entry.gang.set_owner(*std::move(owner));
}

void GangBook::end_absences(Time now) {
  for (auto& [key, entry] : entries_) {
    if (entry.absent == Time::never() || entry.absent + kAbsentLimit > now) continue;
    entry.is_here = false;
    entry.absent = Time::never();
    queue_.add_gang(key);
  }
}

Time GangBook::due() const {
  Time first = Time::never();
  for (const auto& [key, entry] : entries_) {
    if (entry.absent != Time::never()) first = std::min(first, entry.absent + kAbsentLimit);
  }
  return first;
}

JobId GangBook::number(const std::string& key) {
  const JobId job(next_job_++);
  adopt(key, job);
  return job;
}

void GangBook::adopt(const std::string& key, JobId job) {
  entries_.at(key).job = job;
  keys_[job] = key;
}

void GangBook::drop_job(const std::string& key) {
  JobId& job = entries_.at(key).job;
  keys_.erase(job);
  job = JobId::none();
}

void GangBook::forget(const std::string& key, Time now) {
  drop_job(key);
  const Owner& owner = entries_.at(key).gang.owner();
  const bool is_of_pods = owner.kind == nullptr;
  if (is_of_pods) refusals_.remove(fmt::format("{}/{}", owner.name_space, owner.name));
  std::optional<Owner> next = std::move(entries_.at(key).next);
  entries_.erase(key);
  if (next) return put_owner(*std::move(next), now);
  if (!is_of_pods || !members_.contains(key)) return;
  form(key, nullptr, now);
  if (entries_.contains(key)) queue_.add_gang(key);
}

const GangBook::Entry* GangBook::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

const GangBook::Entry* GangBook::find(JobId job) const {
  const auto key = keys_.find(job);
  return key == keys_.end() ? nullptr : find(key->second);
}

void GangBook::each_pod(
    const std::function<void(const std::string& key, const Pod& pod)>& sink) const {
  for (const auto& [key, uids] : members_) {
    for (const std::string& uid : uids) sink(key, *cluster_.pod(uid));
  }
}

std::set<PodNeeds> GangBook::needs() const {
  std::set<PodNeeds> needs;
  for (const auto& [key, entry] : entries_) {
    if (entry.is_whole_and_here()) needs.insert(entry.gang.owner().needs);
  }
  return needs;
}

}  // namespace fairlead
