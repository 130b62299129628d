// Texts of the flags that select a trace's format and jobs, for every command that reads a trace.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/trace/trace.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Empty texts: the flag was not given.
struct ReadFlags {
  std::string format;
  std::string columns;     // "job=JobID,gpus=NGPUs"
  std::string unit;        // "ms"
  std::string delimiter;   // ";"
  std::string decimal;     // "comma"
  std::string dates;       // "dmy"
  std::string utc_offset;  // "+02:00,2026-10-25T03:00:00=+01:00"
  std::string from;
  std::string to;
  std::string users;               // "ann,bob"
  std::string sample;              // "0.1"
  std::vector<std::string> where;  // "State=COMPLETED"
};

// The help of --utc-offset.
constexpr std::string_view kUtcOffsetHelp =
    "offset from UTC of Slurm's times, which have no zone, as +02:00, and of later times, as "
    "+02:00,2026-10-25T03:00:00=+01:00";

// Errors name the flag.
Result<ReadOptions> read_options(const ReadFlags& flags);
// Returns the same flags as arguments of a command line.
std::vector<std::string> arguments_of(const ReadFlags& flags);

}  // namespace fairlead
