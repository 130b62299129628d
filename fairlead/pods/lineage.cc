#include "fairlead/pods/lineage.h"

#include "fairlead/pods/kinds.h"

#include <fmt/format.h>

namespace fairlead {

std::string known_parent(const Json& object) {
  const Json& parent = controller_of(object);
  const bool is_known =
      find_owner_kind(text_at(parent, {"apiVersion"}), text_at(parent, {"kind"})) != nullptr;
  return is_known ? text_at(parent, {"uid"}) : std::string();
}

const std::string& Lineage::top(const std::string& uid) const {
  const std::string* at = &uid;
  // Uids are unique, so there is no cycle; if there were one, the loop would still end.
  for (std::size_t left = parents_.size(); left > 0; --left) {
    const auto parent = parents_.find(*at);
    if (parent == parents_.end()) break;
    at = &parent->second;
  }
  return *at;
}

std::string Lineage::gang_key(const Pod& pod) const {
  if (!pod.group.empty()) return fmt::format("{}/{}", pod.name_space, pod.group);
  if (pod.is_of_known_kind) return top(pod.owner);
  if (pod.owner.empty()) return pod.uid;
  // If the controller does not mention gangs, each pod is a gang. A pod created again under the same name
  // is the same gang.
  return pod.gang_size > 0 ? pod.owner : fmt::format("{}/{}", pod.owner, pod.name);
}

}  // namespace fairlead
