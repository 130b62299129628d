// Records that no run can have written, though they can be decoded.
#pragma once

#include "fairlead/journal/record.h"

#include <cstdint>
#include <string>

namespace fairlead {

// No run lasts longer. The limit keeps a record's time far from overflow, whatever bytes a file contains.
constexpr Time kTimeMax{std::int64_t{1} << 60};

// Returns why no run can have written the record, or nothing. The audit checks for records that a faulty
// run can have written.
std::string impossible(const Record& record);

}  // namespace fairlead
