#include "fairlead/journal/record.h"

#include <array>

namespace fairlead::record {

std::string_view stop_cause_name(StopCause cause) {
  static constexpr std::array<std::string_view, kStopCauses> kNames = {"policy", "cancelled",
                                                                       "held"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace fairlead::record
