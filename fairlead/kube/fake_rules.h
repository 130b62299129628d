// What an API server holds to as objects are made and changed.
#pragma once

#include "fairlead/kube/fake_path.h"

#include <string>
#include <string_view>

namespace fairlead {

// Why the preconditions of a write, a uid and a resource version, do not hold; empty: they do.
std::string broken_precondition(const Json& object, const Json& preconditions);
// What the server fills in for a pod that is made.
void complete_pod(Json& pod);
void set_condition(Json& object, Json condition);
// Subresources change their part alone, and the whole object changes all but the status.
void keep_part(Json& object, const Json& before, const FakePath& path);
// What no replacement changes: name, uid and the like.
void keep_identity(Json& object, const Json& before);
// What an update may not change, in words; empty: nothing of it is changed.
std::string_view forbidden_change(const FakeKey& key, const Json& before, const Json& after);
// A PodDisruptionBudget is about the pod, by its matchLabels.
bool budget_selects(const Json& budget, const Json& pod);
// On a node and not ended: its kubelet takes it away.
bool is_at_work(const Json& pod);

}  // namespace fairlead
