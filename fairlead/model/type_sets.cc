#include "fairlead/model/type_sets.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/speed.h"

#include <algorithm>

namespace fairlead {

TypeMask types_named(const Cluster& cluster, std::string_view names) {
  TypeMask types = 0;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('+'), names.size());
    const GpuTypeId type = cluster.type_named(trimmed(names.substr(0, end)));
    if (!type.is_none()) types |= type_bit(type);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return types;
}

TypeMask types_of_product(const Cluster& cluster, std::string_view type) {
  TypeMask types = 0;
  for (const GpuTypeId id : ids<GpuTypeId>(cluster.type_names.size())) {
    if (type_key(product_of_type(cluster.type_names[id])) == type_key(product_of_type(type)))
      types |= type_bit(id);
  }
  return types;
}

std::string names_of(const Cluster& cluster, TypeMask types, std::string_view between) {
  std::string names;
  for (const GpuTypeId id : ids<GpuTypeId>(cluster.type_names.size())) {
    if ((types & type_bit(id)) == 0) continue;
    if (!names.empty()) names += between;
    names += cluster.type_names[id];
  }
  return names;
}

}  // namespace fairlead
