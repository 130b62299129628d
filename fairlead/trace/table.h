// How a table with a header of its own is read: which column is what, and how its cells are written.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/input/civil_time.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class Decimals : std::uint8_t {
  kBySeparator,  // a comma where the columns are separated by ; or tabs, and a point
  kPoint,
  kComma,
};

struct TableOptions {
  // Of fields (docs/formats.md, "Tables of any header"): the column of each that was named.
  std::map<std::string, std::string, std::less<>> columns{};
  Duration unit{};                      // of numbers whose column names none; 0: seconds
  char separator = '\0';                // '\0': the one that the header has most of
  DayOrder dates = DayOrder::kUnknown;  // of 04/05/2026
  Decimals decimals = Decimals::kBySeparator;
  friend bool operator==(const TableOptions&, const TableOptions&) = default;
};

// The words that `--columns` takes, for messages.
std::string table_fields();
bool is_table_field(std::string_view name);
// Of the fields that a table needs, those that no name in `header` tells.
std::vector<std::string_view> table_lacks(const std::vector<std::string_view>& header);

}  // namespace fairlead
