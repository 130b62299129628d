// One row at a time of a published CSV table, its fields named by the table's header.
//
// For tables without quotes, in which a comma always separates. Views are valid until the next line is read.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"

#include <string_view>
#include <vector>

namespace fairlead {

class CsvRow {
 public:
  explicit CsvRow(std::string_view header) : columns_(split(header)) {}

  // Splits the current line of `lines`. Error: it has more or fewer fields than the header.
  Status read(const LineReader& lines);

  // REQUIRES: the header has that column.
  std::string_view operator[](std::string_view column) const { return fields_[index(column)]; }
  // Returns the error "FILE:LINE:COLUMN: NAME WHAT: VALUE" about the field of that column.
  tl::unexpected<Error> bad(std::string_view column, std::string_view what) const;

 private:
  static std::vector<std::string_view> split(std::string_view line);
  std::size_t index(std::string_view column) const;

  std::vector<std::string_view> columns_;
  std::vector<std::string_view> fields_;
  std::string_view file_;
  std::int64_t line_ = 0;
};

}  // namespace fairlead
