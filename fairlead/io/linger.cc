#include "fairlead/io/linger.h"

#include "fairlead/shim/processes.h"

#include <poll.h>

namespace fairlead {
namespace {

constexpr int kTries = 200;
constexpr int kPauseMs = 10;  // no event signals it

}  // namespace

bool becomes_free(pid_t owner, const std::function<bool()>& is_free) {
  for (int i = 0; i < kTries; ++i) {
    if (is_free()) return true;
    const auto process = shim::find_process(owner);
    if (process && !process->has_ended()) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

}  // namespace fairlead
