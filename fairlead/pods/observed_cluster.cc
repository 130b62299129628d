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
             {.device = [this](const OwnerKind& kind,
                               const ReflectedChange& change) { on_device(kind, change); },
              .owner = [this](const OwnerKind& kind,
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
                    is_gone ? remove_pod(parse_pod(*change.object)) : set_pod(read_pod(change));
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
  if (change.kind == ReflectedChange::Kind::kDeleted) return remove_node(change.name.second);
  Node node = parse_node(*change.object);
  claimable_.erase(node.name);
  set_node(with_claimable(std::move(node)));
}

// Adds the GPUs of the node that pods can claim, in place of the number that was known before.
Node ObservedCluster::with_claimable(Node node) {
  const std::uint32_t gpus = view_.devices().gpus_of(node.name);
  std::uint32_t& before = claimable_[node.name];
  if (gpus == 0 && before == 0) return node;
  if (node.product.empty()) node.product = view_.devices().product_of(node.name);
  node.gpus = node.gpus - before + gpus;
  node.gpus_all = node.gpus_all - before + gpus;
  node.allocatable[std::string(kGpuResource)] = Amount{1000} * node.gpus;
  before = gpus;
  return node;
}

// Reads a pod with the GPUs that it claims. REQUIRES: it exists.
Pod ObservedCluster::read_pod(const ReflectedChange& change) {
  Pod pod = parse_pod(*view_.devices().with_gpus(change.object));
  pod.device_claims = Devices::claims_of(*change.object);
  if (pod.device_claims.empty()) {
    claimants_.erase(pod.uid);
  } else {
    claimants_[pod.uid] = {nullptr, change};
  }
  return pod;
}

void ObservedCluster::on_device(const OwnerKind& kind, const ReflectedChange& change) {
  Devices& devices = view_.devices();
  const bool differs = kind.kind == kDeviceClass     ? devices.on_class(change)
                       : kind.kind == kResourceSlice ? devices.on_slice(change)
                       : kind.kind == kResourceClaim ? devices.on_claim(change)
                                                     : devices.on_template(change);
  followers_.queue.add_starting();
  if (!differs) return;
  const auto read_node = [&](const Node& node) {
    Node now = with_claimable(node);
    if (now.gpus != node.gpus || now.product != node.product) set_node(std::move(now));
  };
  if (kind.kind == kResourceSlice) {
    if (const Node* const node = view_.node(text_at(*change.object, {"spec", "nodeName"})))
      read_node(Node(*node));
    return;
  }
  if (kind.kind == kDeviceClass) {
    for (const auto& [name, node] : Inventory::Nodes(view_.nodes())) read_node(node);
  }
  // A claim that was made for a pod concerns that pod alone.
  const std::string& pod = text_at(controller_of(*change.object), {"uid"});
  if (kind.kind == kResourceClaim && !pod.empty()) {
    if (const auto found = claimants_.find(pod); found != claimants_.end())
      read_claimant(pod, Claimant(found->second));
    return;
  }
  for (const auto& [uid, claimant] : std::map(claimants_)) read_claimant(uid, claimant);
}

void ObservedCluster::read_claimant(const std::string& uid, const Claimant& claimant) {
  if (claimant.kind != nullptr) {
    on_owner(*claimant.kind, claimant.change);
  } else if (view_.pod(uid) != nullptr) {
    set_pod(read_pod(claimant.change));
  }
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

void ObservedCluster::on_owner(const OwnerKind& kind, const ReflectedChange& shown) {
  ReflectedChange change = shown;
  change.object = view_.devices().with_gpus(shown.object);
  const std::string& uid = text_at(*change.object, {"metadata", "uid"});
  if (Devices::has_claims(*shown.object) && shown.kind != ReflectedChange::Kind::kDeleted) {
    claimants_[uid] = {&kind, shown};
  } else {
    claimants_.erase(uid);
  }
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
  claimants_.erase(pod.uid);
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
  if (answer.act.kind == GangAct::Kind::kDevice && !answer.is_ok() && answer.status >= 400)
    view_.devices().take_answer(answer.act.device, nullptr);
  if (gangs_.find(answer.gang) == nullptr) return;
  followers_.queue.add_gang(answer.gang);
  if (!answer.is_ok()) return;
  if (answer.act.pod.empty()) {
    const auto object = parsed_json(answer.text);
    if (!object) return;
    if (!gangs_.find(answer.gang)->gang.owner().is_of_kueue()) {
      gangs_.take_answer(answer.gang,
                         *view_.devices().with_gpus(std::make_shared<const Json>(*object)));
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
  if (answer.act.kind == GangAct::Kind::kDevice) {
    view_.devices().take_answer(answer.act.device, std::make_shared<const Json>(*object));
    return followers_.queue.add_gang(answer.gang);
  }
  if (answer.act.kind == GangAct::Kind::kBind) {  // the answer has no pod
    if (!pod.node.empty()) return;
    pod.node = answer.act.node;
    pod.mask = answer.act.gpus;
    if (pod.mask != 0) pod.wish = wish_text(true, answer.version);
    return set_pod(std::move(pod));
  }
  if (pod.version != answer.version) return;
  if (answer.act.kind != GangAct::Kind::kEvict)
    return set_pod(read_pod({.kind = ReflectedChange::Kind::kModified,
                             .name = {pod.name_space, pod.name},
                             .object = std::make_shared<const Json>(*object)}));
  pod.is_leaving = true;
  set_pod(std::move(pod));
}

}  // namespace fairlead
