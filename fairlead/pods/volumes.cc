#include "fairlead/pods/volumes.h"

#include "fairlead/pods/kinds.h"
#include "fairlead/pods/label_selector.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

// Labels of volumes that name zones or regions, several divided by "__", as kube-scheduler's plugin VolumeZone reads
// them.
constexpr std::array<std::string_view, 4> kZoneLabels = {
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"};

std::vector<std::string> split_zones(std::string_view text) {
  std::vector<std::string> zones;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("__", at), text.size());
    zones.emplace_back(text.substr(at, end - at));
    at = end + 2;
  }
  return zones;
}

// Returns the nodes that can use a volume. A rule that cannot be read admits none.
NodeRules reach_of(const Json& volume) {
  const Json as_pod = {{"affinity",
                        {{"nodeAffinity",
                          {{"requiredDuringSchedulingIgnoredDuringExecution",
                            json_at(volume, {"spec", "nodeAffinity", "required"})}}}}}};
  NodeRules rules = parse_node_rules(as_pod).value_or(NodeRules{.has_terms = true});
  for (const std::string_view label : kZoneLabels) {
    const std::string& zones = text_at(volume, {"metadata", "labels", label});
    if (zones.empty()) continue;
    rules.selector.push_back({std::string(label), LabelRule::Kind::kIn, split_zones(zones)});
  }
  return rules;
}

NodeRules topologies_of(const Json& storage_class) {
  NodeRules rules;
  for (const Json& topology : json_at(storage_class, {"allowedTopologies"})) {
    rules.has_terms = true;
    NodeTerm& term = rules.terms.emplace_back();
    for (const Json& label : json_at(topology, {"matchLabelExpressions"})) {
      LabelRule& rule =
          term.labels.emplace_back(LabelRule{.key = text_at(label, {"key"}), .values = {}});
      for (const Json& value : json_at(label, {"values"})) {
        rule.values.push_back(text_at(value, {}));
      }
    }
  }
  return rules;
}

bool offers_modes(const ClaimAsks& offers, const ClaimAsks& asks) {
  return std::ranges::all_of(asks.modes, [&](const std::string& mode) {
    return std::ranges::find(offers.modes, mode) != offers.modes.end();
  });
}

bool is_gone(const ReflectedChange& change) {
  return change.kind == ReflectedChange::Kind::kDeleted;
}

}  // namespace

// --- Objects --------------------------------------------------------------------------------------

void Volumes::on_claim(const ReflectedChange& change) {
  if (is_gone(change)) {
    claims_.erase(change.name);
    return;
  }
  const Json& object = *change.object;
  const Json& annotations = json_at(object, {"metadata", "annotations"});
  Claim claim{.uid = text_at(object, {"metadata", "uid"}),
              .version = text_at(object, {"metadata", "resourceVersion"}),
              .asks = parse_claim_asks(json_at(object, {"spec"})),
              .volume = text_at(object, {"spec", "volumeName"}),
              .is_leaving = !text_at(object, {"metadata", "deletionTimestamp"}).empty(),
              .node = text_at(annotations, {kSelectedNode}),
              .pod = text_at(controller_of(object), {"uid"})};
  claim.is_bound = !claim.volume.empty() && !text_at(annotations, {kBindCompleted}).empty();
  claims_[change.name] = std::move(claim);
}

void Volumes::forget_volume(const std::string& name) {
  const auto found = volumes_.find(name);
  if (found == volumes_.end()) return;
  const Volume& volume = found->second;
  reserved_[volume.claim].erase(name);
  if (reserved_[volume.claim].empty()) reserved_.erase(volume.claim);
  free_[volume.offers.storage_class].erase(name);
  volumes_.erase(found);
}

void Volumes::on_volume(const ReflectedChange& change) {
  const std::string& name = change.name.second;
  forget_volume(name);
  if (is_gone(change)) return;
  const Json& object = *change.object;
  Volume volume{.version = text_at(object, {"metadata", "resourceVersion"}),
                .offers = parse_claim_asks(json_at(object, {"spec"})),
                .reach = reach_of(object),
                .labels = {},
                .claim = {text_at(object, {"spec", "claimRef", "namespace"}),
                          text_at(object, {"spec", "claimRef", "name"})},
                .claim_uid = text_at(object, {"spec", "claimRef", "uid"})};
  volume.offers.storage =
      parse_quantity(text_at(object, {"spec", "capacity", "storage"})).value_or(0);
  const bool is_available = text_at(object, {"status", "phase"}) == "Available" &&
                            text_at(object, {"metadata", "deletionTimestamp"}).empty();
  if (const Json& labels = json_at(object, {"metadata", "labels"}); labels.is_object()) {
    for (const auto& [key, value] : labels.items()) volume.labels[key] = text_at(value, {});
  }
  if (!volume.claim.second.empty()) {
    reserved_[volume.claim].insert(name);
  } else if (is_available) {
    free_[volume.offers.storage_class].insert(name);
  }
  volumes_[name] = std::move(volume);
}

void Volumes::on_class(const ReflectedChange& change) {
  if (is_gone(change)) {
    classes_.erase(change.name.second);
    return;
  }
  const Json& object = *change.object;
  classes_[change.name.second] = {
      .waits = text_at(object, {"volumeBindingMode"}) == "WaitForFirstConsumer",
      .makes_none = text_at(object, {"provisioner"}) == kNoProvisioner,
      .provisioner = text_at(object, {"provisioner"}),
      .topologies = topologies_of(object)};
}

void Volumes::on_driver(const ReflectedChange& change) {
  const bool reports =
      !is_gone(change) && json_at(*change.object, {"spec", "storageCapacity"}) == true;
  if (reports) {
    reporting_.insert(change.name.second);
  } else {
    reporting_.erase(change.name.second);
  }
}

void Volumes::on_capacity(const ReflectedChange& change) {
  if (is_gone(change)) {
    capacities_.erase(change.name);
    return;
  }
  const Json& object = *change.object;
  const std::string& largest = text_at(object, {"maximumVolumeSize"});
  capacities_[change.name] = {
      .storage_class = text_at(object, {"storageClassName"}),
      .most = parse_quantity(largest.empty() ? text_at(object, {"capacity"}) : largest).value_or(0),
      .nodes = json_at(object, {"nodeTopology"})};
}

void Volumes::take_answer(const VolumeRequest& request, const Json& object) {
  ReflectedChange change{.kind = ReflectedChange::Kind::kModified,
                         .object = std::make_shared<const Json>(object)};
  if (request.volume.empty()) {
    const auto found = claims_.find(request.claim);
    if (found == claims_.end() || found->second.version != request.version) return;
    change.name = request.claim;
    return on_claim(change);
  }
  const auto found = volumes_.find(request.volume);
  if (found == volumes_.end() || found->second.version != request.version) return;
  change.name = {"", request.volume};
  on_volume(change);
}

// --- Reads ----------------------------------------------------------------------------------------

const Volumes::Claim* Volumes::find(const std::string& name_space, const std::string& name) const {
  const auto found = claims_.find({name_space, name});
  return found == claims_.end() ? nullptr : &found->second;
}

const Volumes::Class* Volumes::class_of(const ClaimAsks& asks) const {
  const auto found = classes_.find(asks.storage_class);
  return found == classes_.end() ? nullptr : &found->second;
}

bool Volumes::is_of_one_pod(const std::string& name_space, const UsedClaim& claim) const {
  const Claim* const found = find(name_space, claim.name);
  return !claim.is_ephemeral && found != nullptr &&
         std::ranges::find(found->asks.modes, "ReadWriteOncePod") != found->asks.modes.end();
}

std::string Volumes::objection(const User& user) const {
  for (const UsedClaim& used : user.claims) {
    if (std::string why = objection(user, used); !why.empty()) return why;
  }
  return {};
}

std::string Volumes::objection(const User& user, const UsedClaim& used) const {
  const bool is_to_come = used.is_ephemeral && user.pod.empty();
  const Claim* const claim = is_to_come ? nullptr : find(user.name_space, used.name);
  if (claim == nullptr && !is_to_come) return fmt::format("claim {} does not exist", used.name);
  if (claim != nullptr) {
    if (claim->is_leaving) return fmt::format("claim {} is being deleted", used.name);
    if (used.is_ephemeral && claim->pod != user.pod)
      return fmt::format("claim {} was not made for its pod", used.name);
    if (claim->is_bound && !volumes_.contains(claim->volume))
      return fmt::format("claim {} is bound to volume {}, which does not exist", used.name,
                         claim->volume);
    if (claim->is_bound) return {};
    if (!claim->volume.empty())
      return fmt::format("claim {} is not bound to volume {} yet", used.name, claim->volume);
  }
  const ClaimAsks& asks = claim == nullptr ? used.asks : claim->asks;
  const Class* const storage = class_of(asks);
  if (storage == nullptr && !asks.storage_class.empty())
    return fmt::format("claim {} is not bound, and its storage class {} does not exist", used.name,
                       asks.storage_class);
  // A claim that does not exist yet, of a class that binds at once, is bound before its pod.
  if (is_to_come || (storage != nullptr && storage->waits)) return {};
  return fmt::format("claim {} is not bound yet", used.name);
}

std::string Volumes::pending(const User& user) const {
  for (const UsedClaim& used : user.claims) {
    const Claim* const claim = find(user.name_space, used.name);
    if (claim == nullptr || claim->is_bound) continue;
    if (const std::string* its = reserved({user.name_space, used.name}, claim->uid))
      return fmt::format("claim {} waits to be bound to volume {}", used.name, *its);
    if (!claim->node.empty())
      return fmt::format("claim {} waits for its volume on node {}", used.name, claim->node);
  }
  return {};
}

const std::string* Volumes::reserved(const KubeName& claim, const std::string& uid) const {
  const auto found = reserved_.find(claim);
  if (found == reserved_.end()) return nullptr;
  for (const std::string& name : found->second) {
    const std::string& its = volumes_.at(name).claim_uid;
    if (its.empty() || its == uid) return &name;
  }
  return nullptr;
}

// Returns the smallest free volume that suits, so that larger ones are left for others.
const std::string* Volumes::smallest(const ClaimAsks& asks, const Node& node,
                                     const std::set<std::string>& taken) const {
  const auto free = free_.find(asks.storage_class);
  if (free == free_.end()) return nullptr;
  const std::string* best = nullptr;
  for (const std::string& name : free->second) {
    const Volume& volume = volumes_.at(name);
    const bool suits = volume.offers.form == asks.form && volume.offers.storage >= asks.storage &&
                       offers_modes(volume.offers, asks) &&
                       (asks.selector.is_null() || selects(asks.selector, volume.labels));
    if (!suits || taken.contains(name) || !labels_admit(volume.reach, node)) continue;
    if (best == nullptr || volume.offers.storage < volumes_.at(*best).offers.storage) best = &name;
  }
  return best;
}

std::optional<std::vector<VolumeRequest>> Volumes::needs(const User& user, const Node& node,
                                                         VolumeChoices& choices) const {
  std::vector<VolumeRequest> found;
  VolumeChoices all = choices;
  for (const UsedClaim& used : user.claims) {
    if (!add_need(user, used, node, all, found)) return std::nullopt;
  }
  choices = std::move(all);
  return found;
}

std::optional<bool> Volumes::admits(const KubeName& name, const Claim& claim,
                                    const Node& node) const {
  const std::string* const its = claim.is_bound ? &claim.volume : reserved(name, claim.uid);
  const auto volume = its == nullptr ? volumes_.end() : volumes_.find(*its);
  if (volume != volumes_.end()) return labels_admit(volume->second.reach, node);
  if (claim.is_bound) return false;
  if (!claim.node.empty()) return claim.node == node.name;
  return std::nullopt;
}

bool Volumes::can_make(const Class& storage, const ClaimAsks& asks, const Node& node) const {
  if (storage.makes_none || !labels_admit(storage.topologies, node)) return false;
  return !reporting_.contains(storage.provisioner) ||
         std::ranges::any_of(capacities_, [&](const auto& entry) {
           const Capacity& capacity = entry.second;
           return capacity.storage_class == asks.storage_class && capacity.most >= asks.storage &&
                  selects(capacity.nodes, node.labels);
         });
}

// Adds the request for one claim, unless it was made. Returns false if the pod cannot be on the node.
bool Volumes::add_need(const User& user, const UsedClaim& used, const Node& node,
                       VolumeChoices& choices, std::vector<VolumeRequest>& found) const {
  const KubeName name = {user.name_space, used.name};
  const bool is_to_come = used.is_ephemeral && user.pod.empty();
  const Claim* const claim = is_to_come ? nullptr : find(user.name_space, used.name);
  if (claim == nullptr && !is_to_come) return false;
  if (claim != nullptr) {
    if (const auto known = admits(name, *claim, node)) return *known;
  }
  const ClaimAsks& asks = claim == nullptr ? used.asks : claim->asks;
  const Class* const storage = class_of(asks);
  if (storage == nullptr) return false;
  if (!storage->waits) return is_to_come;
  VolumeRequest request{.claim = name,
                        .claim_uid = claim == nullptr ? "" : claim->uid,
                        .volume = {},
                        .version = claim == nullptr ? "" : claim->version,
                        .node = node.name};
  const auto shared = is_to_come ? choices.of.end() : choices.of.find(name);
  if (shared != choices.of.end()) {
    request.volume = shared->second;
    request.version = volumes_.at(shared->second).version;
    if (!labels_admit(volumes_.at(shared->second).reach, node)) return false;
  } else if (const std::string* const free = smallest(asks, node, choices.taken)) {
    choices.taken.insert(*free);
    if (!is_to_come) choices.of[name] = *free;
    request.volume = *free;
    request.version = volumes_.at(*free).version;
  } else if (!can_make(*storage, asks, node)) {
    return false;
  }
  found.push_back(std::move(request));
  return true;
}

}  // namespace fairlead
