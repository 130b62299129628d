// Compares the tables of two engines.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>

namespace fairlead {

// What is different of the two, storage and clock aside, or empty.
std::string difference(const Tables& a, const Tables& b);

}  // namespace fairlead
