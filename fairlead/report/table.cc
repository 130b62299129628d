#include "fairlead/report/table.h"

#include "fairlead/base/check.h"
#include "fairlead/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr std::size_t kGap = 2;  // between columns
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kNotBold = "\x1b[0m";

// Returns the columns on the screen, if every code point takes one: the bytes that do not continue a code point.
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

// NO_COLOR with any nonempty value asks for plain text, even on a terminal (no-color.org).
TextStyle stdout_style() {
  const char* no_color = std::getenv("NO_COLOR");
  const bool is_plain = no_color != nullptr && *no_color != '\0';
  return isatty(STDOUT_FILENO) == 1 && !is_plain ? TextStyle::kTerminal : TextStyle::kPlain;
}

Table::Table(std::vector<Column> columns, std::size_t keys)
    : columns_(std::move(columns)), keys_(keys), has_marks_(columns_.size()) {
  for (const Column& column : columns_) widths_.push_back(width_of(column.header));
}

void Table::add_row(std::vector<std::string> cells) {
  FL_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(),
           columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(cells[i]);
    widths_[i] = std::max(widths_[i], width_of(cells[i]));
  }
  rows_.push_back({std::move(cells), std::vector<bool>(columns_.size())});
}

void Table::mark(std::size_t column) {
  rows_.back().marked[column] = true;
  has_marks_[column] = true;
}

std::vector<Table::Part> Table::parts(std::size_t width) const {
  const auto taken = [&](std::size_t i) { return kGap + widths_[i] + (has_marks_[i] ? 1 : 0); };
  std::vector<Part> parts;
  std::size_t used = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool is_full = i > keys_ && parts.back().size() > keys_ && used + taken(i) - kGap > width;
    if (parts.empty() || is_full) {
      parts.emplace_back();
      used = 0;
      for (std::size_t key = 0; key < std::min(keys_, i); ++key) {
        parts.back().push_back(key);
        used += taken(key);
      }
    }
    parts.back().push_back(i);
    used += taken(i);
  }
  return parts;
}

std::string Table::text(TextStyle style, std::size_t width) const {
  std::string out;
  for (const Part& part : parts(width)) {
    if (!out.empty()) out += '\n';
    append_part(out, part, style);
  }
  return out;
}

void Table::append_part(std::string& out, const Part& part, TextStyle style) const {
  Row headers{{}, std::vector<bool>(columns_.size())};
  for (const Column& column : columns_) headers.cells.push_back(column.header);
  if (style == TextStyle::kTerminal) out += kBold;
  append_line(out, part, headers, TextStyle::kPlain);
  if (style == TextStyle::kTerminal) out += kNotBold;
  for (const Row& row : rows_) {
    const bool is_empty = part.size() > keys_ && std::ranges::all_of(part, [&](std::size_t i) {
                            return i < keys_ || row.cells[i].empty();
                          });
    if (!is_empty) append_line(out, part, row, style);
  }
}

void Table::append_line(std::string& out, const Part& part, const Row& row, TextStyle style) const {
  std::string line;
  for (std::size_t i : part) {
    if (i != part.front()) line.append(kGap, ' ');
    const std::string padding(widths_[i] - width_of(row.cells[i]), ' ');
    const bool is_bold = row.marked[i] && style == TextStyle::kTerminal;
    if (columns_[i].align == Align::kRight) line += padding;
    if (is_bold) line += kBold;
    line += row.cells[i];
    if (row.marked[i]) line += '*';
    if (is_bold) line += kNotBold;
    if (columns_[i].align == Align::kLeft) line += padding;
    if (has_marks_[i] && !row.marked[i]) line += ' ';
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
