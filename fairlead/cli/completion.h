// Scripts by which shells complete the command line.
#pragma once

#include "fairlead/cli/command_tree.h"

#include <cstdint>
#include <string>

namespace fairlead {

enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// A script to source. It stands for the commands and catalogues of now and asks this program nothing.
std::string completion_script(Shell shell, const CommandPage& root);

}  // namespace fairlead
