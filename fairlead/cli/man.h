// Manual pages.
#pragma once

#include "fairlead/cli/command_tree.h"

#include <string>

namespace fairlead {

// The page in roff, for section 1. `root` is the page of the program, and may be `page` itself.
std::string manual_page(const CommandPage& page, const CommandPage& root);

}  // namespace fairlead
