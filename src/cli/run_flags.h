// The flags that simulate and compare share.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/cli/run.h"
#include "fairlead/compare/run_flags.h"

#include <CLI/CLI.hpp>

#include <string>

namespace fairlead {

// Declares the flags on `app`, which writes to `flags`; `flags` must outlive it.
void add_run_flags(CLI::App& app, RunFlags& flags);

// The run that the flags ask for. Errors name the flag.
Result<RunConfig> run_config(const RunFlags& flags, std::string policy);

}  // namespace fairlead
