// Texts of the flags that select a trace's format and jobs, for every command that reads a trace.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/trace/trace.h"

#include <string>
#include <vector>

namespace fairlead {

// Empty texts: the flag was not given.
struct ReadFlags {
  std::string format;
  std::string columns;    // "job=JobID,gpus=NGPUs"
  std::string unit;       // "ms"
  std::string delimiter;  // ";"
  std::string decimal;    // "comma"
  std::string dates;      // "dmy"
  std::string from;
  std::string to;
  std::string users;               // "ann,bob"
  std::string sample;              // "0.1"
  std::vector<std::string> where;  // "State=COMPLETED"
};

// Errors name the flag.
Result<ReadOptions> read_options(const ReadFlags& flags);
// Returns the same flags as arguments of a command line.
std::vector<std::string> arguments_of(const ReadFlags& flags);

}  // namespace fairlead
