// Records that no run can have written, though they can be decoded.
#pragma once

#include "fairlead/journal/record.h"

#include <cstdint>
#include <string>

namespace fairlead {

// No run lasts longer: the time of a record stays far from overflow whatever the bytes say.
constexpr Time kTimeMax{std::int64_t{1} << 60};

// Returns what no run can have written, or nothing. What a faulty run can have written is left to the
// audit.
std::string impossible(const Record& record);

}  // namespace fairlead
