#include "fairlead/model/gpu_names.h"

#include <algorithm>

namespace fairlead {

std::string short_gpu_name(std::string_view name) {
  constexpr std::string_view kInstance = " MIG ";
  if (const std::size_t at = name.find(kInstance); at != name.npos)
    return short_gpu_name(name.substr(0, at)) + "-" +
           std::string(name.substr(at + kInstance.size()));
  // The list of PCI devices names the chip first.
  if (const std::size_t at = name.find('['); at != name.npos && name.ends_with(']'))
    name = name.substr(at + 1, name.size() - at - 2);
  for (const std::string_view maker :
       {"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "AMD ", "Instinct ", "INSTINCT ", "Radeon "}) {
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  }
  // "RTX 3090" has two words; "A100-SXM4-80GB" and "H100 80GB HBM3" contain more than the type.
  const bool has_prefix = name.starts_with("RTX ") || name.starts_with("GTX ") ||
                          name.starts_with("TITAN ") || name.starts_with("RX ");
  const std::size_t from = has_prefix ? name.find(' ') + 1 : 0;
  std::string type(name.substr(0, std::min(name.find_first_of(" -/", from), name.size())));
  std::erase(type, ' ');
  // "RTX 6000" is the name of two generations.
  if (name.find(" Ada ") != name.npos) type += "Ada";
  return type;
}

}  // namespace fairlead
