// The tasks of an array or a sweep: jobs that differ in an index, and in words of their command.
#pragma once

#include "fairlead/base/result.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

struct TaskFlags {
  std::string array;                // "1-20%4"; empty: there is none
  std::vector<std::string> params;  // "lr=0.1,0.01"
  std::int64_t at_once = 0;         // 0: all
};

// Adds --array, --param and --at-once.
void add_task_flags(CLI::App& app, TaskFlags& flags);

// Returns the fields `tasks` and `at_once` of a submission: a task for each index and each combination of values. `name`:
// of the jobs; a task adds its index and values. Empty if the flags name no task. Errors: a flag is not as it should be;
// the command does not have a parameter; there are more tasks than a submission can have. O(tasks x command).
Result<nlohmann::json> task_fields(const TaskFlags& flags, const std::string& name,
                                   std::span<const std::string> command);

}  // namespace fairlead
