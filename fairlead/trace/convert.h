// Writes a workload as native CSV: what every trace can be converted to.
//
// Reading the file back gives the same users, models, jobs and durations. Times are exact to the millisecond, optional
// columns appear if some job needs them, and names are quoted if needed. Calendar times are written as Unix times.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead {

// Writes the file at `path`, which appears only when it is complete. Errors: Error::Kind::kRun.
Status write_native(const Workload& workload, const std::filesystem::path& path);

// Passes the same text, piece by piece, to `write`.
void write_native(const Workload& workload, const std::function<void(std::string_view)>& write);

}  // namespace fairlead
