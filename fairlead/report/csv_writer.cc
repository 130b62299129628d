#include "fairlead/report/csv_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace fairlead {

CsvWriter::CsvWriter(Output output, std::string_view header) : output_(std::move(output)) {
  output_(header);
  output_("\n");
}

CsvWriter::CsvWriter(OutputFile& file, std::string_view header)
    : CsvWriter([&file](std::string_view bytes) { file.write(bytes); }, header) {}

void CsvWriter::begin_cell() {
  if (!first_) row_ += ',';
  first_ = false;
}

void CsvWriter::text(std::string_view value) {
  begin_cell();
  constexpr std::string_view kFormulaBegins = "=+-@\t\r";
  const bool formula = !value.empty() && kFormulaBegins.find(value.front()) != value.npos;
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
    if (formula) row_ += '\'';
    row_ += value;
    return;
  }
  row_ += '"';
  if (formula) row_ += '\'';
  for (char c : value) {
    if (c == '"') row_ += '"';
    row_ += c;
  }
  row_ += '"';
}

void CsvWriter::integer(std::int64_t value) {
  begin_cell();
  const fmt::format_int digits(value);
  row_.append(digits.data(), digits.size());
}

void CsvWriter::number(double value, int decimals) {
  begin_cell();
  const std::size_t from = row_.size();
  fmt::format_to(std::back_inserter(row_), "{:.{}f}", value, decimals);
  trim_zeros(from);
}

void CsvWriter::seconds(Duration value) {
  integer(value.ms / 1000);
  const std::int64_t fraction_ms = value.ms % 1000;
  if (fraction_ms == 0) return;
  const std::size_t from = row_.size();
  row_ += '.';
  row_ += static_cast<char>('0' + fraction_ms / 100);
  row_ += static_cast<char>('0' + fraction_ms / 10 % 10);
  row_ += static_cast<char>('0' + fraction_ms % 10);
  trim_zeros(from);
}

void CsvWriter::trim_zeros(std::size_t from) {
  if (row_.find('.', from) == std::string::npos) return;
  while (row_.back() == '0') row_.pop_back();
  if (row_.back() == '.') row_.pop_back();
}

void CsvWriter::empty() { begin_cell(); }

void CsvWriter::end_row() {
  row_ += '\n';
  output_(row_);
  row_.clear();
  first_ = true;
}

}  // namespace fairlead
