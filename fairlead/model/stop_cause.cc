#include "fairlead/model/stop_cause.h"

#include <array>

namespace fairlead {

const StopCauseInfo& stop_cause_info(StopCause cause) {
  static constexpr std::array<StopCauseInfo, kStopCauses> kInfos = {{
      {"policy", "its policy stopped it"},
      {"cancelled", "its user cancelled it"},
      {"held", "its user holds it"},
      {"turn", "its turn was over"},
      {"round", "a new round divided the GPUs again"},
      {"priority", "a job ahead of it in the order needed its GPUs"},
      {"move", "it had to move to other GPUs"},
      {"share", "a user further behind its share needed the GPUs"},
      {"quota", "its user or group was beyond its quota"},
      {"drain", "its node was cordoned or had other GPUs than before"},
      {"restart", "its policy started again and did not know the running jobs"},
  }};
  return kInfos[static_cast<std::size_t>(cause)];
}

}  // namespace fairlead
