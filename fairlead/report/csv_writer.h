// Rows of comma-separated values (RFC 4180).
//
// A cell costs O(its length) and no allocation. Times are seconds with up to three decimals, without zeros at the end,
// so no millisecond is lost.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead {

class CsvWriter {
 public:
  using Output = std::function<void(std::string_view)>;
  // Writes the header, "job,user,...", and then passes each row to `output`.
  CsvWriter(Output output, std::string_view header);
  // The same into a file, which must outlive the writer.
  CsvWriter(OutputFile& file, std::string_view header);

  // Quotes only if necessary. A text that a spreadsheet would take for a formula gets a leading "'", so that a job's
  // name cannot run code in the program that opens the file.
  void text(std::string_view value);
  void integer(std::int64_t value);
  // At most `decimals` decimals, without zeros at the end.
  void number(double value, int decimals = 6);
  void seconds(Duration value);
  void empty();
  void end_row();

 private:
  void begin_cell();
  void trim_zeros(std::size_t from);

  Output output_;
  std::string row_;
  bool first_ = true;
};

}  // namespace fairlead
