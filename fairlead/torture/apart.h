// A world in a process of its own, so that a failed check is an outcome like any other.
#pragma once

#include "fairlead/torture/torture.h"

namespace fairlead {

// As torture(); if the process aborts, the problem is what it said last.
WorldOutcome torture_apart(std::uint64_t seed, const WorldLimits& limits);

}  // namespace fairlead
