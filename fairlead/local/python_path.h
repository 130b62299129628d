// The path on which a job's Python processes find the hook that counts their optimizer steps (python/hook).
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// Returns the PYTHONPATH of a job: the hook's folder first, if the job has the hook, then the job's own path. A job that
// submits another passes its own path on, so the hook's folder in `own` does not count.
std::string python_path(std::string_view own, std::string_view hook, bool has_hook);

}  // namespace fairlead
