// Patches and selectors as an API server applies them.
#pragma once

#include "fairlead/kube/json.h"

#include <string_view>

namespace fairlead {

// Merges `patch` into `object`: maps by key, null takes a key away, all else is replaced (RFC 7386).
void merge_patch(Json& object, const Json& patch);
// The same, but that the lists that Kubernetes merges by a key (conditions by type, containers and
// env by name, owners by uid) are so merged; {"$patch": "delete"} takes an item away.
void strategic_merge_patch(Json& object, const Json& patch);

// "a.b=x,c!=y": fields by path, "" where there is none. False for what is no such list.
bool fields_match(const Json& object, std::string_view selector);
// "a=b,c!=d,e,!f" of metadata.labels.
bool labels_match(const Json& object, std::string_view selector);

}  // namespace fairlead
