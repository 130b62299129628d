// The time of a folder: milliseconds since its creation, across daemons.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/io/descriptor.h"

#include <cstdint>
#include <ctime>
#include <string>

namespace fairlead {

class Clock {
 public:
  // Continues the time of `folder`, or starts it. It follows the calendar; if the calendar was set back, it continues
  // from the last recorded time. Error: its files cannot be read or written.
  static Result<Clock> open(const std::string& folder);

  // Ignores changes of the calendar; counts while the machine sleeps.
  Time now();
  // Returns the Unix milliseconds of a time, by the calendar at open().
  std::int64_t unix_ms(Time t) const { return unix_at_open_ + (t - at_open_).ms; }
  // Returns the CLOCK_BOOTTIME of a time; for times before it, the machine's start.
  timespec boot_time(Time t) const;
  // Returns the Unix milliseconds of the folder's creation.
  std::int64_t began() const { return began_; }

 private:
  Clock() = default;

  Descriptor last_file_;  // stores the last returned time
  Time last_{};
  Time at_open_{};
  std::int64_t began_ = 0;
  std::int64_t unix_at_open_ = 0;
  std::int64_t boot_at_open_ns_ = 0;
};

}  // namespace fairlead
