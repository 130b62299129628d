#include "fairlead/report/table.h"

#include "fairlead/base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace fairlead {
namespace {

// Columns on the screen, if every code point takes one: bytes that do not continue a code point.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string grouped(std::string digits) {
  const std::size_t end = std::min(digits.find('.'), digits.size());
  const std::size_t begin = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = end; i > begin + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

// NO_COLOR with any value but none asks for plain text on a terminal, too (no-color.org).
TextStyle stdout_style() {
  const char* no_color = std::getenv("NO_COLOR");
  const bool is_plain = no_color != nullptr && *no_color != '\0';
  return isatty(STDOUT_FILENO) == 1 && !is_plain ? TextStyle::kTerminal : TextStyle::kPlain;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(width_of(column.header));
}

void Table::add_row(std::vector<std::string> cells) {
  FL_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(),
           columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(std::move(cells[i]));
    widths_[i] = std::max(widths_[i], width_of(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text(TextStyle style) const {
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  std::string out;
  if (style == TextStyle::kTerminal) out += "\x1b[1m";
  append_line(out, headers);
  if (style == TextStyle::kTerminal) out += "\x1b[0m";
  for (const auto& row : rows_) append_line(out, row);
  return out;
}

void Table::append_line(std::string& out, const std::vector<std::string>& cells) const {
  constexpr std::size_t kGap = 2;
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    const std::string padding(widths_[i] - width_of(cells[i]), ' ');
    line += columns_[i].align == Align::kRight ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

std::string count_text(std::int64_t value) { return grouped(fmt::format("{}", value)); }

std::string number_text(double value, int decimals) {
  return grouped(fmt::format("{:.{}f}", value, decimals));
}

std::string percent_text(double fraction) { return number_text(100 * fraction, 1) + " %"; }

}  // namespace fairlead
