#include "fairlead/model/step.h"

namespace fairlead {

std::string_view place_kind_name(PlaceKind kind) {
  constexpr std::string_view kNames[kPlaceKinds] = {"start", "resume", "migrate"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fairlead
