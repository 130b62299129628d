// Flags of simulate and compare in a file: --config reads it, --save-config writes it.
//
// The file is YAML, a map of the flags' long names without dashes: `policy: fifo`, `audit: true`,
// `set: [costs=none, bin_s=60]` or `set: {costs: none, bin_s: 60}`.
#pragma once

#include "fairlead/base/result.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace fairlead {

// Declares the two flags on `app`, after its others.
void add_run_file_flags(CLI::App& app);

// Returns the words of the command line for `root`, without the program's name. The words of the file named by --config
// come before the others of simulate or compare. The command line replaces values of the file; a flag that may be
// repeated is added behind. Errors name the file, with line and column if it is not YAML, or a flag that the command
// does not have.
Result<std::vector<std::string>> with_run_file(const CLI::App& root,
                                               std::vector<std::string> words);

// Writes the file of --save-config, if it was given. REQUIRES: `app` was parsed.
Status save_run_file(const CLI::App& app);

}  // namespace fairlead
