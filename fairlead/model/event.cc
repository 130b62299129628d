#include "fairlead/model/event.h"

#include <array>

namespace fairlead {

std::string_view event_name(EventKind kind) {
  static constexpr std::array<std::string_view, kEventKinds> kNames = {
      "finished", "failed",       "stopped",   "stop failed", "cancelled",  "held",
      "evicted",  "start failed", "cordoned",  "GPUs down",   "uncordoned", "GPUs up",
      "started",  "progress",     "reported",  "tickets",     "released",   "arrived",
      "woke",     "pinned",       "forgotten", "room up",     "profiled",   "charged"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fairlead
