#include "fairlead/pods/gang_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace fairlead {
namespace {

const std::string kNoPod;

Volumes::User user_of(const Pod& pod) { return {pod.name_space, pod.uid, pod.claims}; }

// Returns the pods with GPUs, present and missing ones, as users of volumes.
std::vector<Volumes::User> users_of(const PodGang& gang) {
  std::vector<Volumes::User> users;
  for (const Pod* pod : gang.members()) users.push_back(user_of(*pod));
  const Owner& owner = gang.owner();
  for (std::uint32_t left = gang.missing(); left > 0; --left) {
    users.push_back({owner.name_space, kNoPod, owner.claims});
  }
  return users;
}

bool uses(const std::vector<UsedClaim>& claims, const std::string& name) {
  return std::ranges::find(claims, name, &UsedClaim::name) != claims.end();
}

// Returns why no pod of the gang may have a claim that is for one pod: another has it, or several of them want it.
std::string rivalry(const PodGang& gang, const std::vector<Volumes::User>& users,
                    const ClusterView& cluster) {
  const std::string& name_space = gang.owner().name_space;
  for (const Volumes::User& user : users) {
    for (const UsedClaim& claim : user.claims) {
      if (!cluster.volumes().is_of_one_pod(name_space, claim)) continue;
      const auto count = std::ranges::count_if(
          users, [&](const Volumes::User& other) { return uses(other.claims, claim.name); });
      if (count > 1)
        return fmt::format("claim {} is for one pod (ReadWriteOncePod), and {} of it use it",
                           claim.name, count);
      const Pod* const other = cluster.user_of(name_space, claim.name, gang.owner().key);
      if (other != nullptr)
        return fmt::format("claim {} is for one pod (ReadWriteOncePod), and pod {} has it",
                           claim.name, other->name);
    }
  }
  return {};
}

// Returns why the claims of the gang keep it from all nodes, apart from volumes that are on their way.
std::string claims_objection(const PodGang& gang, const std::vector<Volumes::User>& users,
                             const ClusterView& cluster) {
  for (const Volumes::User& user : users) {
    if (std::string why = cluster.volumes().objection(user); !why.empty()) return why;
  }
  return rivalry(gang, users, cluster);
}

// Returns how many of the users can have their volumes on the node, one after the other.
std::size_t count_on(const Node& node, const std::vector<Volumes::User>& users,
                     const ClusterView& cluster) {
  VolumeChoices choices;
  return static_cast<std::size_t>(std::ranges::count_if(users, [&](const Volumes::User& user) {
    return cluster.volumes().needs(user, node, choices).has_value();
  }));
}

// Returns true if some node with GPUs can have the volumes.
bool has_node(const Volumes::User& user, const ClusterView& cluster) {
  return std::ranges::any_of(cluster.nodes(), [&](const auto& entry) {
    VolumeChoices choices;
    return entry.second.gpus_all > 0 &&
           cluster.volumes().needs(user, entry.second, choices).has_value();
  });
}

}  // namespace

bool has_claims(const PodGang& gang) {
  return !gang.owner().claims.empty() || std::ranges::any_of(gang.pods(), [](const auto& entry) {
    return entry.second.gpus > 0 && !entry.second.claims.empty();
  });
}

std::string volume_objection(const PodGang& gang, const ClusterView& cluster) {
  if (!has_claims(gang)) return {};
  const std::vector<Volumes::User> users = users_of(gang);
  if (std::string why = claims_objection(gang, users, cluster); !why.empty()) return why;
  for (const Volumes::User& user : users) {
    if (std::string what = cluster.volumes().pending(user); !what.empty()) return what;
  }
  for (const Volumes::User& user : users) {
    if (has_node(user, cluster)) continue;
    for (const UsedClaim& claim : user.claims) {
      const std::vector<UsedClaim> one = {claim};
      if (!has_node({user.name_space, user.pod, one}, cluster))
        return fmt::format("no node with GPUs can have the volume of claim {}", claim.name);
    }
    return "no node with GPUs can have all volumes of one of its pods";
  }
  std::size_t most = 0;
  for (const auto& [name, node] : cluster.nodes()) {
    if (node.gpus_all > 0) most += count_on(node, users, cluster);
  }
  return most >= users.size()
             ? ""
             : fmt::format("the free volumes suffice for {} of its {} pods", most, users.size());
}

std::map<std::string, std::uint32_t> volume_places(const PodGang& gang,
                                                   const ClusterView& cluster) {
  const std::vector<Volumes::User> users = users_of(gang);
  // Pods that have succeeded still count for the engine, and need no node.
  const auto done = gang.owner().pods - std::min<std::size_t>(gang.owner().pods, users.size());
  std::map<std::string, std::uint32_t> places;
  for (const auto& [name, node] : cluster.nodes()) {
    const std::size_t pods = node.gpus_all == 0 ? 0 : done + count_on(node, users, cluster);
    if (pods > 0) places[name] = static_cast<std::uint32_t>(pods);
  }
  return places;
}

namespace {

// Collects the requests for volumes of bindings.
class Requests {
 public:
  Requests(const PodGang& gang, const ClusterView& cluster) : gang_(gang), cluster_(cluster) {}

  // Returns the number of claims that the pod needs first; nothing if the node cannot have its volumes.
  std::optional<std::size_t> add(const GangAct& binding) {
    const Pod& pod = gang_.pods().at(binding.pod);
    const Node* const node = cluster_.node(binding.node);
    if (node == nullptr) return std::nullopt;
    const auto needs = cluster_.volumes().needs(user_of(pod), *node, choices_);
    if (!needs) return std::nullopt;
    for (const VolumeRequest& request : *needs) {
      // Pods may share a claim.
      if (!claims_.insert(request.claim).second) continue;
      acts_.push_back({.kind = GangAct::Kind::kVolume, .pod = pod.uid, .volume = request});
    }
    return needs->size();
  }
  std::vector<GangAct>& acts() { return acts_; }

 private:
  const PodGang& gang_;
  const ClusterView& cluster_;
  VolumeChoices choices_;
  std::set<KubeName> claims_;
  std::vector<GangAct> acts_;
};

}  // namespace

VolumeActs with_volumes(const PodGang& gang, const ClusterView& cluster,
                        std::vector<GangAct> acts) {
  const auto uses_claims = [&](const GangAct& act) {
    return act.kind == GangAct::Kind::kBind && !gang.pods().at(act.pod).claims.empty();
  };
  if (std::ranges::none_of(acts, uses_claims)) return {std::move(acts)};
  const Volumes& volumes = cluster.volumes();
  VolumeActs out;
  if (has_claims(gang) && !claims_objection(gang, users_of(gang), cluster).empty()) return out;
  Requests requests(gang, cluster);
  bool waits = false;
  std::set<std::string> waiting_riders;
  for (const GangAct& act : acts) {
    if (!uses_claims(act)) continue;
    const Pod& pod = gang.pods().at(act.pod);
    const bool is_rider = pod.gpus == 0;
    const bool is_pending = !volumes.pending(user_of(pod)).empty();
    std::optional<std::size_t> needs;
    if (!is_rider || volumes.objection(user_of(pod)).empty()) needs = requests.add(act);
    if (!needs && !is_pending && !is_rider) return {.node = act.node};
    if (needs == 0 && !is_pending) continue;
    if (is_rider) {
      waiting_riders.insert(act.pod);
    } else {
      waits = true;
    }
  }
  out.acts = std::move(requests.acts());
  for (GangAct& act : acts) {
    const bool is_held = act.kind == GangAct::Kind::kBind && gang.pods().at(act.pod).gpus > 0
                             ? waits
                             : waiting_riders.contains(act.pod);
    if (!is_held) out.acts.push_back(std::move(act));
  }
  return out;
}

}  // namespace fairlead
