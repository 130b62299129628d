// Runs of this program in parallel child processes.
#pragma once

#include "base/result.h"

#include <string>
#include <vector>

namespace fairlead {

struct ChildRun {
  std::vector<std::string> arguments;  // after the program's name
  int exit_code = 0;                   // 128 + the signal's number if a signal ended it
  std::string errors;                  // what it wrote to standard error
};

// Runs every child, as many at a time as there are cores, and fills in how it went. Their standard
// output is thrown away. Error: a process cannot be started.
Status run_children(std::vector<ChildRun>& children);

// Why it failed: what it wrote, without the program's name, or else its exit code.
std::string message_of(const ChildRun& child);

}  // namespace fairlead
