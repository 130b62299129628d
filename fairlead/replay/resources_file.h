// resources.json of a result folder: the CPU and memory of nodes and of tasks, which are in no journal, for `why`.
//
// Present only if they limited placements. It names the journal that it belongs to, because a folder may keep the file
// of an earlier run.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/report/result_files.h"
#include "fairlead/sim/cpu_limits.h"

#include <filesystem>
#include <string_view>

namespace fairlead {

// Adds the file, unless nothing limits.
Status write_resources(ResultFolder& folder, const StatedResources& stated,
                       std::string_view journal_hash);

// Returns the limits of the file beside the journal; empty limits if there is none, or if it belongs to another
// journal than `summary`. Error (Error::Kind::kRun): it is damaged.
Result<TaskLimits> limits_beside(const std::filesystem::path& journal,
                                 const nlohmann::json& summary);

}  // namespace fairlead
