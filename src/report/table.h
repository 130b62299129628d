// Aligned tables for a terminal: text to the left, numbers to the right, plain where the output is
// not a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class Align : std::uint8_t { kLeft, kRight };
enum class TextStyle : std::uint8_t { kPlain, kTerminal };

// kTerminal if standard output is a terminal.
TextStyle stdout_style();

class Table {
 public:
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns);

  // REQUIRES: one cell per column. Control characters are shown as '?'.
  void add_row(std::vector<std::string> cells);
  // The header and all rows, a line each; no blanks at the ends of lines.
  std::string text(TextStyle style) const;

 private:
  void append_line(std::string& out, const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

// The text with '?' for control characters, which could do anything to a terminal.
std::string printable(std::string text);

// For people: "1,234,567", "1,234.5" (as many decimals as asked), "12.3 %".
std::string count_text(std::int64_t value);
std::string number_text(double value, int decimals);
std::string percent_text(double fraction);

}  // namespace fairlead
