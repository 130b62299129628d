#include "fairlead/input/csv_row.h"

#include "fairlead/base/check.h"

#include <algorithm>

namespace fairlead {

Status CsvRow::read(const LineReader& lines) {
  file_ = lines.name();
  line_ = lines.number();
  fields_ = split(lines.line());
  if (fields_.size() == columns_.size()) return {};
  return input_error("{}:{}:1: a row must have {} fields: {}", file_, line_, columns_.size(),
                     fields_.size());
}

tl::unexpected<Error> CsvRow::bad(std::string_view column, std::string_view what) const {
  FL_CHECK(!fields_.empty() && !what.empty(), "no row was read");
  const std::string_view value = (*this)[column];
  return input_error("{}:{}:{}: {} {}: {}", file_, line_, value.data() - fields_[0].data() + 1,
                     column, what, value);
}

std::vector<std::string_view> CsvRow::split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t comma = line.find(','); comma != line.npos; comma = line.find(',')) {
    fields.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  fields.push_back(line);
  return fields;
}

std::size_t CsvRow::index(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  FL_CHECK(found != columns_.end(), "no column {}", column);
  return static_cast<std::size_t>(found - columns_.begin());
}

}  // namespace fairlead
