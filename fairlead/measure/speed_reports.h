// Rules for the reports of measured speeds to an engine, the same in every world.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/measure/meter.h"

#include <optional>

namespace fairlead {

// Returns whether a speed differs enough from the last one that was reported; 0: none was. Units of both are the same.
bool is_news(double speed, double reported);

// Returns a speed relative to its reference, cut off if it is implausibly high.
double plausible(double speed);

// Returns the running time that is left on the job's reference gang. Nullopt: the total or the speed is not known.
// `speed`: of the gang that makes `unit_per_s`, relative to its reference.
std::optional<Duration> time_left(const Progress& progress, double unit_per_s, double speed);

}  // namespace fairlead
