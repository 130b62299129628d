#include "fairlead/pods/observed_cluster.h"

#include "fairlead/pods/tickets.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace fairlead {

ObservedCluster::ObservedCluster(KubeDoor& door, const PodsOptions& options,
                                 EventRecorder& recorder, const Followers& followers)
    : door_(door),
      recorder_(recorder),
      followers_(followers),
      gangs_(view_, followers.engine_cluster, followers.refusals, followers.queue),
      kueue_(options.queues, kueue_sinks()),
      watch_(door, options,
             {.owner = [this](const OwnerKind& kind,
                              const ReflectedChange& change) { on_owner(kind, change); },
              .pod_group =
                  [this](const OwnerKind& kind, const ReflectedChange& change) {
                    gangs_.set_pod_group(kind, change, door_.now());
                  },
              .priority =
                  [this](const OwnerKind& kind, const ReflectedChange& change) {
                    view_.priorities().on(kind, change);
                    followers_.queue.add_all();
                  },
              .kueue = [this](const OwnerKind& kind,
                              const ReflectedChange& change) { kueue_.on(kind, change); },
              .node = [this](const ReflectedChange& change) { on_node(change); },
              .pod =
                  [this](const ReflectedChange& change) {
                    const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
                    is_gone ? remove_pod(parse_pod(*change.object))
                            : set_pod(parse_pod(*change.object));
                  },
              .budget =
                  [this](const ReflectedChange& change) {
                    view_.set_budget(change);
                    followers_.queue.add_kept();
                  },
              .quota =
                  [this](const ReflectedChange& change) {
                    view_.set_quota(change);
                    followers_.queue.add_suspended();
                  },
              .claim = volume_sink(&Volumes::on_claim),
              .volume = volume_sink(&Volumes::on_volume),
              .storage_class = volume_sink(&Volumes::on_class),
              .driver = volume_sink(&Volumes::on_driver),
              .capacity = volume_sink(&Volumes::on_capacity),
              .settings = [this](const ReflectedChange& change) { on_settings(change); }}) {}

Reflector::Sink ObservedCluster::volume_sink(void (Volumes::*take)(const ReflectedChange&)) {
  return [this, take](const ReflectedChange& change) {
    (view_.volumes().*take)(change);
    followers_.queue.add_claims();
  };
}

KueueView::Sinks ObservedCluster::kueue_sinks() {
  return {.node = [this](Node node) { set_node(std::move(node)); },
          .no_node = [this](const std::string& name) { remove_node(name); },
          .gang = [this](Owner owner) { gangs_.put_owner(std::move(owner), door_.now()); },
          .no_gang = [this](const std::string& key) { gangs_.remove_owner(key); },
          .pod = [this](Pod pod) { set_pod(std::move(pod)); },
          .no_pod = [this](Pod pod) { remove_pod(std::move(pod)); }};
}

void ObservedCluster::on_node(const ReflectedChange& change) {
  change.kind == ReflectedChange::Kind::kDeleted ? remove_node(change.name.second)
                                                 : set_node(parse_node(*change.object));
}

void ObservedCluster::set_node(Node node) {
  const std::string name = node.name;
  const ClusterView::NodeNews news = view_.set_node(std::move(node));
  if (news.offers) end_rest(name);
  if (news.facts) followers_.engine_cluster.suspect();
  followers_.queue.add_node(name);
  followers_.queue.add_all();
}

void ObservedCluster::remove_node(const std::string& name) {
  view_.remove_node(name);
  followers_.queue.add_node(name);
  followers_.queue.add_all();
}

// Settings that cannot be read leave all as it was.
void ObservedCluster::on_settings(const ReflectedChange& change) {
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  auto tickets = parse_tickets(is_gone ? "" : text_at(*change.object, {"data", "tickets"}));
  if (!tickets) return recorder_.record(*change.object, "Refused", tickets.error().message);
  view_.set_tickets(*std::move(tickets));
}

void ObservedCluster::on_owner(const OwnerKind& kind, const ReflectedChange& change) {
  const std::string& uid = text_at(*change.object, {"metadata", "uid"});
  if (change.kind == ReflectedChange::Kind::kDeleted) {
    gangs_.remove_parent(uid);  // its pods stay with their gang
  } else {
    for (const std::string& member : gangs_.set_parent(uid, known_parent(*change.object))) {
      Pod pod = *view_.pod(member);
      pod.gang = gangs_.key_of(pod);
      view_.set_pod(pod);
      gangs_.set_pod(pod, door_.now());
    }
  }
  if (!kind.is_joined) gangs_.set_owner(kind, change, door_.now());
  if (const auto joined = joined_owners_.join(kind, change))
    gangs_.set_owner(*joined->kind, joined->change, door_.now());
}

void ObservedCluster::set_pod(Pod pod) {
  if (const Pod* const before = view_.pod(pod.uid)) {
    pod.gang = before->gang;
  } else if (pod.is_ours) {
    pod.gang = gangs_.key_of(pod);
  }
  followers_.queue.add_node(view_.set_pod(pod));
  followers_.queue.add_node(pod.node);
  if (pod.is_ours) gangs_.set_pod(pod, door_.now());
  if (!pod.takes_gpus()) end_rest(pod.node);
  if (pod.is_over() && !pod.claims.empty()) followers_.queue.add_claims();
  // Another gang may wait for the GPUs that this pod leaves.
  if (!pod.takes_gpus() || pod.is_frozen()) followers_.queue.add_starting();
}

void ObservedCluster::remove_pod(Pod pod) {
  if (const Pod* const before = view_.pod(pod.uid)) {
    pod.gang = before->gang;
  } else if (pod.is_ours) {
    pod.gang = gangs_.key_of(pod);
  }
  followers_.queue.add_node(view_.remove_pod(pod.uid));
  if (pod.is_ours) gangs_.remove_pod(pod, door_.now());
  end_rest(pod.node);
  if (!pod.claims.empty()) followers_.queue.add_claims();
  followers_.queue.add_starting();
}

void ObservedCluster::end_rest(const std::string& node) {
  if (followers_.resting.remove(node)) followers_.queue.add_node(node);
}

void ObservedCluster::take_answer(const GangCalls::Answer& answer) {
  if (lets_run(answer.act.kind)) view_.take_answer(answer.act, answer.status);
  if (gangs_.find(answer.gang) == nullptr) return;
  followers_.queue.add_gang(answer.gang);
  if (!answer.is_ok()) return;
  if (answer.act.pod.empty()) {
    const auto object = parsed_json(answer.text);
    if (!object) return;
    if (!gangs_.find(answer.gang)->gang.owner().is_of_kueue()) {
      gangs_.take_answer(answer.gang, *object);
    } else if (auto owner = kueue_.gang_of(*object)) {
      gangs_.put_owner(*std::move(owner), door_.now());
    } else {
      gangs_.remove_owner(answer.gang);
    }
  } else if (const Pod* const pod = view_.pod(answer.act.pod)) {
    take_pod_answer(answer, *pod);
  }
}

void ObservedCluster::take_pod_answer(const GangCalls::Answer& answer, Pod pod) {
  const std::optional<Json> object = parsed_json(answer.text);
  if (!object) return;
  if (answer.act.kind == GangAct::Kind::kVolume) {
    view_.volumes().take_answer(answer.act.volume, *object);
    return followers_.queue.add_claims();
  }
  if (answer.act.kind == GangAct::Kind::kBind) {  // the answer has no pod
    if (!pod.node.empty()) return;
    pod.node = answer.act.node;
    pod.mask = answer.act.gpus;
    if (pod.mask != 0) pod.wish = wish_text(true, answer.version);
    return set_pod(std::move(pod));
  }
  if (pod.version != answer.version) return;
  if (answer.act.kind != GangAct::Kind::kEvict) return set_pod(parse_pod(*object));
  pod.is_leaving = true;
  set_pod(std::move(pod));
}

}  // namespace fairlead
