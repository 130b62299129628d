// Sets of GPU types from their names.
#pragma once

#include "fairlead/model/cluster.h"

#include <string>
#include <string_view>

namespace fairlead {

// Returns the types in a list joined by "+", ignoring case. Names that the cluster does not have are left out.
// O(names x types).
TypeMask types_named(const Cluster& cluster, std::string_view names);

// Returns the types of the product of `type`, ignoring case: for "A100" also "a100/nvlink". O(types).
TypeMask types_of_product(const Cluster& cluster, std::string_view type);

// Returns the names of the types, in the cluster's order and joined by `between`.
std::string names_of(const Cluster& cluster, TypeMask types, std::string_view between = "+");

}  // namespace fairlead
