// Aligned tables for a terminal: text to the left, numbers to the right, without styles if the output is not a
// terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class Align : std::uint8_t { kLeft, kRight };
enum class TextStyle : std::uint8_t { kPlain, kTerminal };

// Returns kTerminal if standard output is a terminal and NO_COLOR is not set.
TextStyle stdout_style();

// The width of tables for reading.
constexpr std::size_t kScreenColumns = 80;

class Table {
 public:
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };
  // `keys`: the number of first columns that identify a row.
  explicit Table(std::vector<Column> columns, std::size_t keys = 1);

  // REQUIRES: one cell per column. Control characters are shown as '?'.
  void add_row(std::vector<std::string> cells);
  // Marks a cell of the last row: bold on a terminal, with "*" behind it everywhere.
  void mark(std::size_t column);
  // Returns the header and all rows, a line each, without blanks at the ends of lines. A table that is wider than
  // `width` is split into several, one below the other, each with the key columns and the rows that have a value there.
  std::string text(TextStyle style, std::size_t width = static_cast<std::size_t>(-1)) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<bool> marked;
  };
  using Part = std::vector<std::size_t>;  // columns of one part, side by side

  std::vector<Part> parts(std::size_t width) const;
  void append_part(std::string& out, const Part& part, TextStyle style) const;
  void append_line(std::string& out, const Part& part, const Row& row, TextStyle style) const;

  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<std::size_t> widths_;
  std::vector<bool> has_marks_;  // by column
  std::vector<Row> rows_;
};

// For people: "1,234,567", "1,234.5" (as many decimals as asked), "12.3 %".
std::string count_text(std::int64_t value);
std::string number_text(double value, int decimals);
std::string percent_text(double fraction);

}  // namespace fairlead
