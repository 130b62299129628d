// Runs a world in its own process, so that a failed check is an outcome like any other.
#pragma once

#include "fairlead/torture/torture.h"

namespace fairlead {

// Does the same as torture(); if the process aborts, the problem is its last output.
WorldOutcome torture_apart(std::uint64_t seed, const WorldLimits& limits);

}  // namespace fairlead
