#include "fairlead/pods/joined_owners.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace fairlead {

std::optional<JoinedOwners::Joined> JoinedOwners::join(const OwnerKind& kind,
                                                       const ReflectedChange& change) {
  const bool is_gone = change.kind == ReflectedChange::Kind::kDeleted;
  const Json& parent = controller_of(*change.object);
  const OwnerKind* const above =
      find_owner_kind(text_at(parent, {"apiVersion"}), text_at(parent, {"kind"}));
  std::string uid;
  if (kind.is_joined) {
    uid = text_at(*change.object, {"metadata", "uid"});
    Entry& entry = entries_[uid];
    entry.kind = &kind;
    entry.change = change;
  } else if (above != nullptr && above->is_joined) {
    uid = text_at(parent, {"uid"});
    if (!is_gone) entries_[uid].below = change.object;
  }
  const auto found = entries_.find(uid);
  if (found == entries_.end() || found->second.kind == nullptr) return std::nullopt;
  Joined joined{found->second.kind, found->second.change};
  if (found->second.below != nullptr) {
    Json object = *joined.change.object;
    object[std::string(kBelow)] = *found->second.below;
    joined.change.object = std::make_shared<const Json>(std::move(object));
  }
  if (kind.is_joined && is_gone) entries_.erase(found);
  return joined;
}

}  // namespace fairlead
