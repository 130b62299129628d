// Lengths of time, as people write them.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// "12s", "3m 5s", "2h 5m", "3d 4h": the two largest units, cut off. Negative is "0s".
std::string span_text(std::int64_t ms);
// "90s", "30m", "2h", "1h30m", "2d 4h", in seconds. Errors: no such text; zero; over a hundred years.
Result<double> parse_span_s(std::string_view text);

}  // namespace fairlead
