#include "fairlead/pods/watched_kinds.h"

#include "fairlead/kube/backoff.h"
#include "fairlead/kube/failure.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

// The time until a newly installed operator is noticed.
constexpr Duration kAskAgain = seconds(60);
// An older answer is not trusted.
constexpr Duration kStale = seconds(30);

}  // namespace

WatchedKinds::WatchedKinds(KubeDoor& door, std::span<const OwnerKind> kinds, Sink sink)
    : door_(door), kinds_(kinds), sink_(std::move(sink)) {
  for (const OwnerKind& kind : kinds_) groups_[kind.group_path()].ask_at = door.now();
}

WatchedKinds::~WatchedKinds() {
  for (auto& [path, group] : groups_) door_.drop(group.call);
}

// Returns whether all of its kinds are served and their objects known, so there is nothing to look up.
bool WatchedKinds::is_settled(const Group& group) const {
  return std::ranges::all_of(kinds_, [&](const OwnerKind& kind) {
    if (&groups_.at(kind.group_path()) != &group) return true;
    const auto found = group.reflectors.find(&kind);
    return found != group.reflectors.end() && found->second->is_fresh(kStale);
  });
}

void WatchedKinds::wake() {
  for (auto& [path, group] : groups_) {
    for (auto& [kind, reflector] : group.reflectors) reflector->wake();
    if (group.call != 0 || door_.now() < group.ask_at) continue;
    if (group.is_known && is_settled(group)) {
      group.ask_at = door_.now() + kAskAgain;
      continue;
    }
    group.call = door_.call({.method = "GET", .path = path});
  }
}

Time WatchedKinds::wake_at() const {
  Time due = Time::never();
  for (const auto& [path, group] : groups_) {
    for (const auto& [kind, reflector] : group.reflectors)
      due = std::min(due, reflector->wake_at());
    if (group.call == 0) due = std::min(due, group.ask_at);
  }
  return due;
}

bool WatchedKinds::handle(const KubeEvent& event) {
  for (auto& [path, group] : groups_) {
    if (event.kind == KubeEvent::Kind::kAnswer && event.call != 0 && event.call == group.call) {
      take(path, group, event);
      return true;
    }
    for (auto& [kind, reflector] : group.reflectors) {
      if (reflector->handle(event)) return true;
    }
  }
  return false;
}

void WatchedKinds::take(const std::string& path, Group& group, const KubeEvent& event) {
  group.call = 0;
  const auto body = parsed_json(event.text);
  const bool is_answer = event.status == 404 || (event.status == 200 && body.has_value());
  if (!is_answer) {
    group.trouble = failure_text(event);
    group.ask_at =
        door_.now() + std::max(event.retry_after, backoff(++group.failures, door_.random()));
    return;
  }
  group.failures = 0;
  group.trouble.clear();
  group.is_known = true;
  group.ask_at = door_.now() + kAskAgain;
  for (const OwnerKind& kind : kinds_) {
    if (kind.group_path() != path) continue;
    const bool is_served =
        event.status == 200 && item_at(*body, {"resources"}, "name", kind.plural).is_object();
    serve(group, kind, is_served);
  }
}

void WatchedKinds::serve(Group& group, const OwnerKind& kind, bool is_served) {
  const auto found = group.reflectors.find(&kind);
  if (is_served == (found != group.reflectors.end())) return;
  if (is_served) {
    group.reflectors[&kind] = std::make_unique<Reflector>(
        door_, kind.list_path(), "",
        [this, of = &kind](const ReflectedChange& change) { sink_(*of, change); });
    return group.reflectors[&kind]->wake();
  }
  const Reflector::Objects gone = found->second->objects();
  group.reflectors.erase(found);
  for (const auto& [name, object] : gone) {
    sink_(kind, {.kind = ReflectedChange::Kind::kDeleted, .name = name, .object = object});
  }
}

bool WatchedKinds::is_synced() const {
  return std::ranges::all_of(groups_, [](const auto& entry) {
    const Group& group = entry.second;
    return group.is_known && std::ranges::all_of(group.reflectors, [](const auto& of) {
             return of.second->is_synced();
           });
  });
}

bool WatchedKinds::is_fresh(Duration limit) const {
  return std::ranges::all_of(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    return group.is_known && std::ranges::all_of(group.reflectors, [&](const auto& of) {
             return of.second->is_fresh(limit);
           });
  });
}

void WatchedKinds::each(
    const std::function<void(const OwnerKind&, const std::shared_ptr<const Json>&)>& sink) const {
  for (const auto& [path, group] : groups_) {
    for (const auto& [kind, reflector] : group.reflectors) {
      for (const auto& [name, object] : reflector->objects()) sink(*kind, object);
    }
  }
}

std::vector<const Reflector*> WatchedKinds::reflectors() const {
  std::vector<const Reflector*> all;
  for (const auto& [path, group] : groups_) {
    for (const auto& [kind, reflector] : group.reflectors) all.push_back(reflector.get());
  }
  return all;
}

std::string WatchedKinds::trouble() const {
  for (const auto& [path, group] : groups_) {
    if (!group.trouble.empty()) return group.trouble;
    for (const auto& [kind, reflector] : group.reflectors) {
      if (!reflector->trouble().empty()) return reflector->trouble();
    }
  }
  return {};
}

}  // namespace fairlead
