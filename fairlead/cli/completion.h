// Completion scripts for shells.
#pragma once

#include "fairlead/cli/command_tree.h"

#include <cstdint>
#include <string>

namespace fairlead {

enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// Returns a script to source. It contains the current commands and catalogues, and does not call this program.
std::string completion_script(Shell shell, const CommandPage& root);

}  // namespace fairlead
