// Compares the tables of two engines.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>

namespace fairlead {

// Returns a description of the differences between `a` and `b`, except storage and clock; empty if there are none.
std::string difference(const Tables& a, const Tables& b);

}  // namespace fairlead
