// The rules by which an API server creates and changes objects.
#pragma once

#include "fairlead/kube/fake_path.h"

#include <string>
#include <string_view>

namespace fairlead {

// Returns why the preconditions of a write (a uid, a resource version) are not met; empty: they are.
std::string broken_precondition(const Json& object, const Json& preconditions);
// Fills in the fields that the server sets on a new pod.
void complete_pod(Json& pod);
void set_condition(Json& object, Json condition);
// Restores the other part: a write to a subresource changes only its part, and a write to the object
// changes everything except the status.
void keep_part(Json& object, const Json& before, const FakePath& path);
// Restores the fields that no replacement changes: name, uid and the like.
void keep_identity(Json& object, const Json& before);
// Returns the forbidden change of an update, in words; empty: there is none.
std::string_view forbidden_change(const FakeKey& key, const Json& before, const Json& after);
// Returns whether the matchLabels of a PodDisruptionBudget select the pod.
bool budget_selects(const Json& budget, const Json& pod);
// Returns whether the pod is on a node and has not ended. If so, only its kubelet removes it.
bool is_at_work(const Json& pod);

}  // namespace fairlead
