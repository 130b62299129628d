// The end of foreign processes on GPUs, if the administrator wants it (serve --foreign end): SIGTERM follows five minutes
// after the daemon first saw a process, and SIGKILL half a minute later. Processes of root are never ended.
//
// The notices are not kept: another daemon gives new ones. Source: ours.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>

namespace fairlead {

// The effect on foreign processes, beside their names in the answers of the daemon.
enum class OnForeign : std::uint8_t {
  kNothing,
  kEnd,     // they are ended after a notice
  kCharge,  // their users are charged for the GPU time (local/foreign_charges.h)
};

class ForeignNotices {
 public:
  // Gives notices to new processes, and ends those whose time is over. `foreign`: all foreign processes in the driver's
  // last report. Processes on the GPUs `exempt` get none. O(processes log).
  void update(Io& io, std::span<const GpuProcess> foreign, const std::set<std::uint32_t>& exempt,
              Time now);
  // Returns when a process is asked to end, which may be over; never: it has no notice.
  Time end_of(const GpuProcess& process) const;

 private:
  // The identity of a process: its number, program and user, because another process may have the number later.
  using Key = std::tuple<std::uint64_t, std::string, std::string>;
  struct Notice {
    Time ends;  // it is asked to end
    bool was_asked = false;
  };
  static Key key_of(const GpuProcess& one) { return {one.pid, one.name, one.user}; }

  std::map<Key, Notice> notices_;
};

}  // namespace fairlead
