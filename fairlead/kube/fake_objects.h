// Fields of objects that fake controllers read.
#pragma once

#include "fairlead/kube/fake_store.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

inline FakeKey key_of(std::string_view resource, const Json& object) {
  return {std::string(resource), text_at(object, {"metadata", "namespace"}),
          text_at(object, {"metadata", "name"})};
}

inline const std::string& uid_of(const Json& object) {
  return text_at(object, {"metadata", "uid"});
}
inline const std::string& phase_of(const Json& pod) { return text_at(pod, {"status", "phase"}); }
inline const std::string& node_of(const Json& pod) { return text_at(pod, {"spec", "nodeName"}); }

inline bool is_over(const Json& pod) {
  return phase_of(pod) == "Failed" || phase_of(pod) == "Succeeded";
}
inline bool is_deleted(const Json& pod) {
  return json_at(pod, {"metadata"}).contains("deletionTimestamp");
}

// Returns the owner that controls an object; null: none.
inline const Json& owner_of(const Json& object) {
  static const Json kNone;
  const Json& owners = json_at(object, {"metadata", "ownerReferences"});
  if (!owners.is_array()) return kNone;
  const auto found = std::find_if(owners.begin(), owners.end(),
                                  [](const Json& o) { return is_true_at(o, {"controller"}); });
  return found == owners.end() ? kNone : *found;
}

inline bool has_condition(const Json& object, std::string_view type) {
  return text_at(item_at(object, {"status", "conditions"}, "type", type), {"status"}) == "True";
}

// Returns the number in an annotation, or `otherwise`.
inline std::int64_t annotation(const Json& object, std::string_view name, std::int64_t otherwise) {
  const std::string& text = text_at(object, {"metadata", "annotations", name});
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the pods that an owner controls. O(pods).
inline std::vector<FakeObject> pods_of(const FakeStore& store, const std::string& owner_uid) {
  std::vector<FakeObject> pods = store.list({std::string(kPods), "", "", ""});
  std::erase_if(
      pods, [&](const FakeObject& pod) { return text_at(owner_of(*pod), {"uid"}) != owner_uid; });
  return pods;
}

}  // namespace fairlead
