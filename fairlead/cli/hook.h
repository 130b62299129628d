// The Python files that count the optimizer steps of jobs (python/hook), as this program has them.
#pragma once

#include "fairlead/base/result.h"

#include <filesystem>

namespace fairlead {

// Writes them into the folder `hook` of the daemon's folder, where all users can read them, and returns that folder.
// Files that are the same already stay. Error: the folder cannot be written.
Result<std::filesystem::path> write_hook(const std::filesystem::path& folder);

}  // namespace fairlead
