// Patches and selectors as an API server applies them.
#pragma once

#include "fairlead/kube/json.h"

#include <string_view>

namespace fairlead {

// Merges `patch` into `object`: maps by key, null removes a key, all else is replaced (RFC 7386).
void merge_patch(Json& object, const Json& patch);
// The same, but lists that Kubernetes merges by a key are merged: conditions by type, containers and env
// by name, owners by uid. {"$patch": "delete"} removes an item.
void strategic_merge_patch(Json& object, const Json& patch);

// Matches "a.b=x,c!=y": fields by path, "" if there is none. False if the text is not such a list.
bool fields_match(const Json& object, std::string_view selector);
// Matches "a=b,c!=d,e,!f" against metadata.labels.
bool labels_match(const Json& object, std::string_view selector);

}  // namespace fairlead
