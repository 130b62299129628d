// The environment of a job's task: the variables of Fairlead (docs/checkpoints.md), and the variables of its user.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/local/local_jobs.h"
#include "fairlead/local/machine.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns "NAME=value" of all variables for the start that is due. A user's variable with the name of one of ours is left
// out. `hook`: the folder of the hook for Python processes (python/hook); empty: none. REQUIRES: the job has a start.
// O(GPUs + variables of the user).
std::vector<std::string> task_environment(Io& io, const Tables& tables, const Machine& machine,
                                          std::string_view hook, JobId id, const LocalJob& job);

}  // namespace fairlead
