#include "fairlead/model/gpu_names.h"

#include <algorithm>

namespace fairlead {

std::string short_gpu_name(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce ", "Quadro "}) {
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  }
  // "RTX 3090" has two words; "A100-SXM4-80GB" and "H100 80GB HBM3" contain more than the type.
  const bool has_prefix =
      name.starts_with("RTX ") || name.starts_with("GTX ") || name.starts_with("TITAN ");
  const std::size_t from = has_prefix ? name.find(' ') + 1 : 0;
  std::string type(name.substr(0, std::min(name.find_first_of(" -", from), name.size())));
  std::erase(type, ' ');
  // "RTX 6000" is the name of two generations.
  if (name.find(" Ada ") != name.npos) type += "Ada";
  return type;
}

}  // namespace fairlead
