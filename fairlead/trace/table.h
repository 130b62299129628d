// Options for a table with its own header: the meaning of its columns and the format of its cells.
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
  kBySeparator,  // a comma if the columns are separated by ; or tabs, otherwise a point
  kPoint,
  kComma,
};

struct TableOptions {
  // The column of each named field (docs/formats.md, "Tables of any header").
  std::map<std::string, std::string, std::less<>> columns{};
  Duration unit{};                      // unit of numbers whose column names none; 0: seconds
  char separator = '\0';                // '\0': the most frequent one in the header
  DayOrder dates = DayOrder::kUnknown;  // order of day and month in 04/05/2026
  Decimals decimals = Decimals::kBySeparator;
  friend bool operator==(const TableOptions&, const TableOptions&) = default;
};

// The words that `--columns` takes, for messages.
std::string table_fields();
bool is_table_field(std::string_view name);
// Returns the fields that a table needs, but that `header` lacks.
std::vector<std::string_view> table_lacks(const std::vector<std::string_view>& header);

}  // namespace fairlead
